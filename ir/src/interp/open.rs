//! What the IR leaves open, noticed while a program runs under [`Limits::closed`](super::Limits::closed): indices out of range, elements that
//! nobody wrote, memory that invocations touch in no order, and derivatives where control flow has parted a quad.

use super::InterpError;
use crate::inst::MemRef;
use std::collections::HashMap;

/// An error of this kind.
pub(super) fn open<T>(what: &'static str) -> Result<T, InterpError> {
    Err(InterpError::Open(what))
}

/// An invocation between two barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// Invocations that barriers order.
    pub group: u32,
    /// The invocation.
    pub lane: u32,
    /// Barriers that it has passed.
    pub barriers: u32,
}

impl Who {
    /// Whether nothing says which of two comes first.
    fn races(self, other: Who) -> bool {
        (self.group, self.lane) != (other.group, other.lane) && (self.group != other.group || self.barriers == other.barriers)
    }
}

/// Who last touched a word.
#[derive(Default)]
struct Touch {
    stored: Option<Who>,
    loaded: Option<Who>,
    /// Whether others loaded it in no order with that one.
    by_several: bool,
}

/// The words of storage and the elements of workgroup memory that were touched.
#[derive(Default)]
pub(super) struct Touches(HashMap<(MemRef, usize), Touch>);

impl Touches {
    /// Notes a load, and says whether the program has stored there.
    pub fn load(&mut self, var: MemRef, at: usize, who: Who) -> Result<bool, InterpError> {
        let t = self.0.entry((var, at)).or_default();
        if t.stored.is_some_and(|s| s.races(who)) {
            return open("invocations touch the same memory in no order");
        }
        let same = t.loaded.is_some_and(|l| (l.group, l.barriers) == (who.group, who.barriers));
        t.by_several = t.loaded.is_some_and(|l| l.races(who)) || t.by_several && same;
        t.loaded = Some(who);
        Ok(t.stored.is_some())
    }
    /// Notes a store.
    pub fn store(&mut self, var: MemRef, at: usize, who: Who) -> Result<(), InterpError> {
        let t = self.0.entry((var, at)).or_default();
        let several = t.by_several && t.loaded.is_some_and(|l| l.barriers == who.barriers);
        if several || t.stored.is_some_and(|s| s.races(who)) || t.loaded.is_some_and(|l| l.races(who)) {
            return open("invocations touch the same memory in no order");
        }
        t.stored = Some(who);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::Shared;
    use cranelift_entity::EntityRef;

    #[test]
    fn barriers_order_what_they_part() {
        let var = MemRef::Shared(Shared::new(0));
        let who = |lane, barriers| Who { group: 0, lane, barriers };
        let mut t = Touches::default();
        assert_eq!(t.load(var, 0, who(0, 0)), Ok(false));
        assert_eq!(t.load(var, 0, who(1, 0)), Ok(false));
        assert!(t.store(var, 0, who(1, 0)).is_err(), "0 may load before or behind");
        assert_eq!(t.store(var, 0, who(1, 1)), Ok(()));
        assert_eq!(t.load(var, 0, who(1, 1)), Ok(true));
        assert!(t.load(var, 0, who(0, 1)).is_err());
        assert_eq!(t.load(var, 0, who(0, 2)), Ok(true));
        assert!(t.store(var, 0, Who { group: 1, lane: 2, barriers: 9 }).is_err(), "barriers order one workgroup only");
    }
}
