//! What the name of a variable says about it, where the source gives no location.

/// Beginnings that say nothing about what a variable is.
const PREFIXES: [&str; 12] = ["gl", "out", "o", "v", "vs", "vtx", "vert", "vertex", "frag", "fs", "ps", "var"];

/// Names of colours, without a number at the end.
pub const COLOURS: [&str; 8] = ["color", "colour", "clr", "col", "frontcolor", "diffuse", "rgba", "tint"];

/// What a name may mean: its letters in lower case with a number behind them, as a whole and without one or two beginnings that
/// say nothing. `v_texCoord1` is `vtexcoord` 1 and `texcoord` 1.
pub fn stems(name: &str) -> Vec<(String, Option<u16>)> {
    let word: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let bare = |w: &String| PREFIXES.iter().filter_map(|p| w.strip_prefix(p)).map(str::to_string).collect::<Vec<_>>();
    let once = bare(&word);
    let twice: Vec<String> = once.iter().flat_map(bare).collect();
    let split = |w: String| {
        let stem = w.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
        let number = w[stem.len()..].parse().ok();
        (stem, number)
    };
    std::iter::once(word).chain(once).chain(twice).map(split).collect()
}

/// What has a place of its own among the values that travel from a vertex program to a fragment program on machines of fixed functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The first or the second colour.
    Colour(u8),
    /// How much fog there is.
    Fog,
}

impl Meaning {
    /// What the name of a value with so many components says.
    pub fn of(name: &str, lanes: u8) -> Option<Meaning> {
        stems(name).into_iter().find_map(|(stem, number)| match (stem.as_str(), number, lanes) {
            (s, None | Some(0), 4) if COLOURS.contains(&s) => Some(Meaning::Colour(0)),
            (s, Some(1), 4) if COLOURS.contains(&s) => Some(Meaning::Colour(1)),
            ("secondarycolor" | "frontsecondarycolor", None, 4) => Some(Meaning::Colour(1)),
            ("fog" | "fogfragcoord", None, 1) => Some(Meaning::Fog),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_left_out() {
        let has = |name: &str, stem: &str, number| stems(name).contains(&(stem.to_string(), number));
        assert!(has("v_color", "color", None) && has("fragColor1", "color", Some(1)) && has("gl_FrontColor", "frontcolor", None));
        assert!(!has("colorful", "color", None));
    }
}
