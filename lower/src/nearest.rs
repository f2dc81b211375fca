//! "Did you mean": the known name that is nearest to one that nobody knows.

/// The nearest of the known names, where one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |k: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &k.to_lowercase());
    known.into_iter().min_by_key(near).filter(|k| near(k) <= k.len().max(name.len()).div_ceil(3))
}

/// What is added to a message about an unknown name: the nearest known one, or all of them.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(k) => format!("did you mean `{k}`?"),
        None => format!("known are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// What is added to a message that lists all known names: the nearest, if one is near.
pub fn also<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|k| format!("; did you mean `{k}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn near_and_far() {
        assert_eq!(super::nearest("filer", ["size", "filter", "wrap"]), Some("filter"));
        assert_eq!(super::nearest("Tessla", ["usse", "tesla"]), Some("tesla"));
        assert_eq!(super::nearest("anything", ["size", "filter"]), None);
        assert_eq!(super::also("filtr", ["size", "filter"]), "; did you mean `filter`?");
        assert_eq!(super::also("xyz", ["size", "filter"]), "");
        assert_eq!(super::hint("xyz", ["size", "filter"]), "known are size, filter");
    }
}
