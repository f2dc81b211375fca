//! An order of a program's instructions, with what is known of it for all its layouts.

use crate::place::{blocks, flow, sched};
use crate::select::mir::MInst;
use retroshade_lower::{RegFile, VCode, View};
use std::rc::Rc;

/// Code in an order, and what was found out about it so far.
#[derive(Clone, Default)]
pub(crate) struct Order {
    code: VCode<MInst>,
    live: Option<Rc<flow::LiveOut>>,
    most: Option<sched::Most>,
    bound: Option<Rc<Bound>>,
}

/// Code whose texture operations and wide accesses have their blocks, as the allocator sees it.
pub(super) struct Bound {
    /// The code with its blocks, where it asks for some.
    code: Option<VCode<MInst>>,
    pub(super) view: View,
    /// Where the blocks end.
    end: usize,
}

impl Order {
    /// Code that nothing is known of.
    pub fn new(code: VCode<MInst>) -> Order {
        Order { code, ..Order::default() }
    }
    /// The code, to be looked at only: that it may be changed is what visiting asks for.
    pub fn code(&mut self) -> &mut VCode<MInst> {
        &mut self.code
    }
    /// The code alone.
    pub fn into_code(self) -> VCode<MInst> {
        self.code
    }
    /// What lives behind the blocks.
    pub fn live(&mut self) -> Rc<flow::LiveOut> {
        self.live.get_or_insert_with(|| Rc::new(flow::live_out(&mut self.code))).clone()
    }
    /// Moves instructions within their blocks.
    pub fn rearrange<T>(&mut self, f: impl FnOnce(&mut VCode<MInst>, &flow::LiveOut) -> T) -> T {
        let live = self.live();
        (self.most, self.bound) = (None, None);
        f(&mut self.code, &live)
    }
    /// Brings the instructions of each block into an order that keeps few values alive.
    pub fn tighten(&mut self) {
        self.most = Some(self.rearrange(sched::tightly));
    }
    fn most(&mut self) -> sched::Most {
        let live = self.live();
        *self.most.get_or_insert_with(|| sched::most_live(&mut self.code, &live))
    }
    /// The program's pressure in `$r` registers, at most: values live at once.
    pub fn pressure(&mut self) -> u32 {
        self.most().with_copies
    }
    /// The fewest `$r` registers that the order is expected to take: as many as values live at once; 0 where that says little.
    pub fn least_registers(&mut self) -> u32 {
        // What no path reads takes none in the end, and where many values live some are made again or lie in memory.
        const KNOWN: u32 = 60;
        let most = self.most();
        if most.undefined || most.values > KNOWN { 0 } else { most.values }
    }
    /// The code with blocks that end before the register `end`.
    pub(super) fn bound(&mut self, end: usize, file: &RegFile) -> Rc<Bound> {
        if let Some(bound) = self.bound.as_ref().filter(|b| b.end == end) {
            return bound.clone();
        }
        let mut own = blocks::are_bound(&self.code).then(|| self.code.clone());
        if let Some(code) = &mut own {
            blocks::assign(code, end);
        }
        let view = View::new(own.as_mut().unwrap_or(&mut self.code), file);
        self.bound.insert(Rc::new(Bound { code: own, view, end })).clone()
    }
    /// The code as it was bound.
    pub(super) fn bound_code<'a>(&'a self, bound: &'a Bound) -> &'a VCode<MInst> {
        bound.code.as_ref().unwrap_or(&self.code)
    }
}
