//! The flag by which a caller ends work that takes too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag by which a caller ends a compilation: searches and passes look at it, and the compilation fails (C0033). Copies are one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// A compilation that ends when the flag is set.
    pub fn when(flag: Arc<AtomicBool>) -> Cancel {
        Cancel(Some(flag))
    }
    /// Whether somebody has set it.
    pub fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|f| f.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_one_flag() {
        let flag = Arc::new(AtomicBool::new(false));
        let (one, two) = (Cancel::when(flag.clone()), Cancel::when(flag.clone()).clone());
        assert!(!one.is_set() && !Cancel::default().is_set());
        flag.store(true, Ordering::Relaxed);
        assert!(one.is_set() && two.is_set());
    }
}
