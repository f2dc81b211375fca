//! The search for a layout: an order of the instructions and registers for it, the cheapest of those that are tried.
//!
//! ```text
//!   as selected ─▶ values late ─▶ few live at once ─▶ values where they are read ─▶ values made again ─▶ reads early
//!                                 └──────────── where registers cost warps ────────────┘
//! ```

use crate::emit::Code;
use crate::place::{Aim, again, flow, sched, sink};
use crate::select::combine::{self, Goal};
use crate::select::mir::MInst;
use retroshade_lower::{CompileError, Placed, VCode};

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
    /// What a layout costs: its bytes, an issue slot counting [`SLOT`] of them and a byte of l[] eight; for the warps that find no room a
    /// share of that, and a little for each register. Where bytes count first, the rest only decides between equals.
    fn price(&self, file: u32, goal: Goal) -> u64 {
        let Code { bytes, counts, registers, .. } = &self.code;
        let bytes = bytes.len() as u64 + 8 * u64::from(self.spilled);
        let code = bytes + SLOT * u64::from(counts.iter().sum::<u32>());
        let most = u64::from(sched::warps(file, 1));
        let missing = most - u64::from(sched::warps(file, *registers));
        let rest = code * (WARPS * most + missing) / most + 2 * u64::from(*registers);
        match goal {
            Goal::Instructions => rest,
            Goal::Bytes => (bytes << 24) + rest,
        }
    }
}

/// Programs beyond this size are not laid out a second time.
const SEARCHED: usize = 600;

/// Larger ones that take more registers than this are allocated in another way, too.
const MANY: u32 = 32;

/// How a program is laid out; `None` if that is no layout.
type LayOut<'a> = &'a dyn Fn(&VCode<MInst>, Aim) -> Result<Option<Laid>, CompileError>;

/// What the search works with.
pub(crate) struct Search<'a> {
    pub lay_out: LayOut<'a>,
    pub shape: &'a dyn Fn() -> sink::Shape,
    pub goal: Goal,
    /// Registers of a multiprocessor.
    pub file: u32,
}

/// The best layout so far, and its order.
pub(crate) struct Found {
    pub laid: Laid,
    pub vcode: VCode<MInst>,
}

impl Search<'_> {
    /// The best layout of a program that has one.
    pub fn run(&self, mut plain: VCode<MInst>, laid: Laid) -> Found {
        let mut best = Found { laid, vcode: plain.clone() };
        if best.laid.spilled > 0 {
            self.spill_less(&mut plain, &mut best);
        }
        if plain.len() > SEARCHED {
            let live = flow::live_out(&mut plain);
            if best.laid.spilled == 0 && best.laid.code.registers > MANY && sched::pressure(&mut plain, &live) <= self.enough(&best) {
                self.consider(&plain, Aim::Few, &mut best);
            }
            return best;
        }
        let live = flow::live_out(&mut plain);
        let mut late = plain.clone();
        if sched::lazily(&mut late) && sched::pressure(&mut late, &live) <= sched::pressure(&mut plain, &live) {
            self.consider(&late, Aim::Place, &mut best);
        }
        if best.laid.spilled == 0 {
            self.more_warps(plain, live, &mut best);
            // All that it can gain is a pair.
            if best.laid.code.alone > 1 {
                self.place_again(Aim::Spread, &mut best);
            }
        }
        let live = flow::live_out(&mut best.vcode);
        self.hide_latency(&live, &mut best);
        let least = sched::pressure(&mut best.vcode, &live);
        if best.laid.spilled == 0 && least < best.laid.code.registers {
            self.place_again(Aim::Most(least), &mut best);
        }
        if self.goal == Goal::Instructions {
            let mut short = best.vcode.clone();
            if combine::share_attributes(&mut short, self.goal) {
                self.consider(&short, if best.laid.spilled == 0 { Aim::Few } else { Aim::Place }, &mut best);
            }
        }
        best
    }
    fn price(&self, laid: &Laid) -> u64 {
        laid.price(self.file, self.goal)
    }
    /// A layout that is cheaper than the best one. What does not fit is no reason to fail: there is a layout that does.
    fn cheaper(&self, vcode: &VCode<MInst>, aim: Aim, best: &Found) -> Option<Laid> {
        (self.lay_out)(vcode, aim).ok().flatten().filter(|new| self.price(new) < self.price(&best.laid))
    }
    /// Keeps an order whose layout is cheaper.
    fn consider(&self, vcode: &VCode<MInst>, aim: Aim, best: &mut Found) {
        if let Some(laid) = self.cheaper(vcode, aim, best) {
            *best = Found { laid, vcode: vcode.clone() };
        }
    }
    /// Keeps other registers for the best order, if they are cheaper.
    fn place_again(&self, aim: Aim, best: &mut Found) {
        if let Some(laid) = self.cheaper(&best.vcode, aim, best) {
            best.laid = laid;
        }
    }
    /// The most registers with which there would be more warps; 0 if there cannot be more.
    fn enough(&self, best: &Found) -> u32 {
        sched::enough(self.file, best.laid.code.registers)
    }
    /// Orders with fewer values live at once, where some of them lie in memory.
    fn spill_less(&self, plain: &mut VCode<MInst>, best: &mut Found) {
        let live = flow::live_out(plain);
        let mut least = sched::pressure(plain, &live);
        let mut attempt = |mut order: VCode<MInst>, live: &flow::LiveOut, best: &mut Found| {
            sched::tightly(&mut order, live);
            let pressure = sched::pressure(&mut order, live);
            if pressure < least {
                least = pressure;
                self.consider(&order, Aim::Place, best);
            }
        };
        attempt(plain.clone(), &live, best);
        let mut sunk = plain.clone();
        if best.laid.spilled > 0 && sink::run(&mut sunk, &(self.shape)()) {
            let live = flow::live_out(&mut sunk);
            attempt(sunk, &live, best);
        }
        *plain = best.vcode.clone();
    }
    /// Orders with fewer values live at once, where registers cost warps.
    fn more_warps(&self, plain: VCode<MInst>, mut live: flow::LiveOut, best: &mut Found) {
        let mut least = sched::pressure(&mut best.vcode, &live);
        if least <= self.enough(best) {
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
            let sunk_live = flow::live_out(&mut sunk);
            self.tighten(&mut sunk, &sunk_live, &mut least, best);
            if sched::pressure(&mut sunk, &sunk_live) <= sched::pressure(&mut order, &live) {
                (order, live) = (sunk, sunk_live);
            }
        }
        let enough = self.enough(best);
        if enough > 0 && sched::pressure(&mut order, &live) > enough && again::run(&mut order, enough as usize) {
            let mut any = u32::MAX;
            live = flow::live_out(&mut order);
            self.tighten(&mut order, &live, &mut any, best);
        }
    }
    /// Lays out the order that keeps fewest values alive, if those are fewer than `least`.
    fn tighten(&self, vcode: &mut VCode<MInst>, live: &flow::LiveOut, least: &mut u32, best: &mut Found) {
        sched::tightly(vcode, live);
        let pressure = sched::pressure(vcode, live);
        if pressure < *least && pressure <= self.enough(best) {
            *least = pressure;
            self.consider(vcode, Aim::Place, best);
            self.consider(vcode, Aim::Few, best);
        }
    }
    /// An order that waits less, where it costs nothing.
    fn hide_latency(&self, live: &flow::LiveOut, best: &mut Found) {
        let mut vcode = best.vcode.clone();
        let pressure = sched::pressure(&mut vcode, live);
        let waits = sched::stalls(&mut vcode);
        if !sched::run(&mut vcode, live, pressure) || sched::stalls(&mut vcode) >= waits {
            return;
        }
        if let Ok(Some(laid)) = (self.lay_out)(&vcode, Aim::Most(best.laid.code.registers))
            && self.price(&laid) <= self.price(&best.laid)
        {
            *best = Found { laid, vcode };
        }
    }
}
