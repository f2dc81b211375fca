//! The search for a layout: an order of the instructions and registers for it, the cheapest of those that are tried.
//!
//! ```text
//!   as selected ─▶ values late ─▶ few live at once ─▶ values where they are read ─▶ values made again ─▶ reads early
//!                                 └──────────── where registers cost warps ────────────┘
//! ```

use crate::emit::Code;
use crate::emit::least::Size;
use crate::place::{Aim, again, flow, sched, sink};
use crate::select::combine::{self, Goal};
use crate::select::mir::MInst;
use retroshade_lower::{AllocStep, CompileError, Placed, VCode};
use std::rc::Rc;

/// A program after placement and emission.
pub(crate) struct Laid {
    pub code: Code,
    pub placed: Placed<MInst>,
    /// Bytes of l[] that values take.
    pub spilled: u32,
}

/// Bytes that an issue slot is worth: those of a long instruction.
const SLOT: u64 = 8;

/// A multiprocessor that held no warps would cost this part of what the code does.
const WARPS: u64 = 2;

impl Laid {
    fn size(&self) -> Size {
        Size { spilled: self.spilled, ..self.code.size() }
    }
    /// Whether [`Aim::Place`] found what [`Aim::Few`] would.
    fn takes_few(&self) -> bool {
        self.placed.step == AllocStep::TreeScan
    }
}

impl Size {
    /// What a layout costs: its bytes, an issue slot counting [`SLOT`] of them and a byte of l[] eight; for the warps that find no room a
    /// share of that, and a little for each register. Where bytes count first, the rest only decides between equals.
    fn price(&self, file: u32, goal: Goal) -> u64 {
        let bytes = self.bytes + 8 * u64::from(self.spilled);
        let code = bytes + SLOT * self.issues;
        let most = u64::from(sched::warps(file, 1));
        let missing = most - u64::from(sched::warps(file, self.registers));
        let rest = code * (WARPS * most + missing) / most + 2 * u64::from(self.registers);
        match goal {
            Goal::Instructions => rest,
            Goal::Bytes => (bytes << 24) + rest,
        }
    }
}

/// Programs beyond this size are not laid out a second time.
pub(crate) const SEARCHED: usize = 600;

/// Larger ones that take more registers than this are allocated in another way, too.
const MANY: u32 = 32;

/// How a program is laid out; `None` if that is no layout, or none that the last argument wants: it is asked what a layout takes at least.
type LayOut<'a> = &'a dyn Fn(&mut VCode<MInst>, Aim, &dyn Fn(Size) -> bool) -> Result<Option<Laid>, CompileError>;

/// What the search works with.
pub(crate) struct Search<'a> {
    pub lay_out: LayOut<'a>,
    pub shape: &'a dyn Fn() -> sink::Shape,
    /// What a program takes at least.
    pub least: &'a dyn Fn(&mut VCode<MInst>) -> Size,
    pub goal: Goal,
    /// Registers of a multiprocessor.
    pub file: u32,
    /// Registers that any program takes.
    pub fewest: u32,
    /// Whether a program in which few values live at once needs no memory.
    pub roomy: bool,
}

/// The best layout so far, and its order.
pub(crate) struct Found {
    pub laid: Laid,
    pub vcode: VCode<MInst>,
    /// What lives behind its blocks.
    live: Rc<flow::LiveOut>,
    /// What any layout of the order takes at least.
    least: Size,
}

impl Search<'_> {
    /// The best layout of a program that has one.
    pub fn run(&self, mut plain: VCode<MInst>, laid: Laid) -> Found {
        let bounded = laid.spilled == 0;
        let large = plain.len() > SEARCHED;
        if large && bounded && laid.code.registers <= MANY {
            return Found { laid, vcode: plain, live: Rc::default(), least: Size::default() };
        }
        let live = Rc::new(flow::live_out(&mut plain));
        if large && bounded && sched::pressure(&mut plain, &live) > sched::enough(self.file, laid.code.registers) {
            return Found { laid, vcode: plain, live, least: Size::default() };
        }
        let least = (self.least)(&mut plain);
        let mut best = Found { laid, vcode: plain.clone(), live, least };
        if !bounded {
            self.spill_less(&mut plain, &mut best);
        }
        let live = best.live.clone();
        best.least = self.least_of(&mut plain, &live, &best);
        if large {
            if best.laid.spilled == 0 && best.laid.code.registers > MANY && sched::pressure(&mut plain, &live) <= self.enough(&best) {
                self.place_again(Aim::Few, &mut best);
            }
            return best;
        }
        let mut late = plain.clone();
        if sched::lazily(&mut late) && sched::pressure(&mut late, &live) <= sched::pressure(&mut plain, &live) {
            self.consider(&mut late, &live, Aim::Place, &mut best);
        }
        if best.laid.spilled == 0 {
            self.more_warps(plain, live, &mut best);
            // All that it can gain is a pair.
            if best.laid.code.alone > 1 {
                let placed = &best.laid.placed;
                let few = (best.laid.takes_few() && placed.rematerialised == 0).then_some(placed.used);
                self.place_again(Aim::Spread(few), &mut best);
            }
        }
        self.hide_latency(bounded, &mut best);
        let least = sched::pressure(&mut best.vcode, &best.live);
        if best.laid.spilled == 0 && least < best.laid.code.registers {
            self.place_again(Aim::Most(least), &mut best);
        }
        if self.goal == Goal::Instructions {
            let mut short = best.vcode.clone();
            if combine::share_attributes(&mut short, self.goal) {
                let aim = if best.laid.spilled == 0 { Aim::Few } else { Aim::Place };
                let least = (self.least)(&mut short);
                let live = best.live.clone();
                self.try_order(&mut short, live, least, aim, &mut best);
            }
        }
        best
    }
    fn price(&self, laid: &Laid) -> u64 {
        laid.size().price(self.file, self.goal)
    }
    /// A layout that costs less than `limit`; `least` is what any of the order takes. What does not fit is no reason to fail: there is a
    /// layout that does.
    fn below(&self, vcode: &mut VCode<MInst>, least: Size, aim: Aim, limit: u64) -> Option<Laid> {
        let wins = |known: Size| least.with(known).price(self.file, self.goal) < limit;
        if !wins(Size::default()) {
            return None;
        }
        let laid = (self.lay_out)(vcode, aim, &wins).ok().flatten()?;
        debug_assert!(least.is_within(laid.size()), "{least:?} was to be the least, and not {:?}", laid.size());
        Some(laid).filter(|new| self.price(new) < limit)
    }
    /// Keeps an order whose layout is cheaper. `live` is what lives behind its blocks.
    fn consider(&self, vcode: &mut VCode<MInst>, live: &Rc<flow::LiveOut>, aim: Aim, best: &mut Found) {
        let least = self.least_of(vcode, live, best);
        self.try_order(vcode, live.clone(), least, aim, best);
    }
    /// What an order takes at least, of the instructions that the best one has.
    fn least_of(&self, vcode: &mut VCode<MInst>, live: &flow::LiveOut, best: &Found) -> Size {
        let registers = if self.roomy && best.laid.spilled == 0 { sched::least_registers(vcode, live) } else { 0 };
        Size { registers: registers.max(self.fewest), ..best.least }
    }
    /// As [`Search::consider`], where it is known what the order takes at least; says whether it was kept.
    fn try_order(&self, vcode: &mut VCode<MInst>, live: Rc<flow::LiveOut>, least: Size, aim: Aim, best: &mut Found) -> bool {
        let laid = self.below(vcode, least, aim, self.price(&best.laid));
        let wins = laid.is_some();
        if let Some(laid) = laid {
            *best = Found { laid, vcode: vcode.clone(), live, least };
        }
        wins
    }
    /// Keeps other registers for the best order, if they are cheaper.
    fn place_again(&self, aim: Aim, best: &mut Found) {
        let limit = self.price(&best.laid);
        if let Some(laid) = self.below(&mut best.vcode, best.least, aim, limit) {
            best.laid = laid;
        }
    }
    /// The most registers with which there would be more warps; 0 if there cannot be more.
    fn enough(&self, best: &Found) -> u32 {
        sched::enough(self.file, best.laid.code.registers)
    }
    /// Orders with fewer values live at once, where some of them lie in memory.
    fn spill_less(&self, plain: &mut VCode<MInst>, best: &mut Found) {
        let live = best.live.clone();
        let mut least = sched::pressure(plain, &live);
        let mut attempt = |mut order: VCode<MInst>, live: &Rc<flow::LiveOut>, best: &mut Found| {
            sched::tightly(&mut order, live);
            let pressure = sched::pressure(&mut order, live);
            if pressure < least {
                least = pressure;
                self.consider(&mut order, live, Aim::Place, best);
            }
        };
        attempt(plain.clone(), &live, best);
        let mut sunk = plain.clone();
        if best.laid.spilled > 0 && sink::run(&mut sunk, &(self.shape)()) {
            let live = Rc::new(flow::live_out(&mut sunk));
            attempt(sunk, &live, best);
        }
        *plain = best.vcode.clone();
    }
    /// Orders with fewer values live at once, where registers cost warps.
    fn more_warps(&self, plain: VCode<MInst>, mut live: Rc<flow::LiveOut>, best: &mut Found) {
        let mut least = sched::pressure(&mut best.vcode, &live);
        if least <= self.enough(best) && !best.laid.takes_few() {
            self.place_again(Aim::Few, best);
        }
        if self.enough(best) == 0 {
            return;
        }
        let mut order = plain.clone();
        self.tighten(&mut order, &live, &mut least, best);
        if self.enough(best) == 0 {
            return;
        }
        let mut sunk = plain;
        if sink::run(&mut sunk, &(self.shape)()) {
            let sunk_live = Rc::new(flow::live_out(&mut sunk));
            self.tighten(&mut sunk, &sunk_live, &mut least, best);
            if sched::pressure(&mut sunk, &sunk_live) <= sched::pressure(&mut order, &live) {
                (order, live) = (sunk, sunk_live);
            }
        }
        let enough = self.enough(best);
        if enough > 0 && sched::pressure(&mut order, &live) > enough && again::run(&mut order, enough as usize) {
            let mut any = u32::MAX;
            live = Rc::new(flow::live_out(&mut order));
            self.tighten(&mut order, &live, &mut any, best);
        }
    }
    /// Lays out the order that keeps fewest values alive, if those are fewer than `least`.
    fn tighten(&self, vcode: &mut VCode<MInst>, live: &Rc<flow::LiveOut>, least: &mut u32, best: &mut Found) {
        sched::tightly(vcode, live);
        let pressure = sched::pressure(vcode, live);
        if pressure < *least && pressure <= self.enough(best) {
            *least = pressure;
            let floor = self.least_of(vcode, live, best);
            let kept = self.try_order(vcode, live.clone(), floor, Aim::Place, best);
            if !(kept && best.laid.takes_few()) {
                self.try_order(vcode, live.clone(), floor, Aim::Few, best);
            }
        }
    }
    /// An order that waits less, where it costs nothing; `bounded` is whether registers can be.
    fn hide_latency(&self, bounded: bool, best: &mut Found) {
        let live = best.live.clone();
        let mut vcode = best.vcode.clone();
        let pressure = sched::pressure(&mut vcode, &live);
        let waits = sched::stalls(&mut vcode);
        if !sched::run(&mut vcode, &live, pressure) || sched::stalls(&mut vcode) >= waits {
            return;
        }
        let most = best.laid.code.registers;
        let least = self.least_of(&mut vcode, &live, best);
        if bounded && least.registers > most {
            return;
        }
        // Waiting less is worth no more than nothing.
        let limit = self.price(&best.laid) + 1;
        if let Some(laid) = self.below(&mut vcode, least, Aim::Most(most), limit) {
            *best = Found { laid, vcode, live, least };
        }
    }
}
