//! The search for a layout: an order of the instructions and registers for it, the cheapest of those that are tried.
//!
//! ```text
//!   as selected ─▶ values late ─▶ few live at once ─▶ values where they are read ─▶ values made again ─▶ reads early
//!                                 └──────────── where registers cost warps ────────────┘
//! ```

use crate::emit::Code;
use crate::emit::least::Size;
use crate::place::{Aim, Order, again, sched, sink};
use crate::select::combine::{self, Goal};
use crate::select::mir::MInst;
use retroshade_lower::{AllocStep, CompileError, Placed, VCode};

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
type LayOut<'a> = &'a dyn Fn(&mut Order, Aim, &dyn Fn(Size) -> bool) -> Result<Option<Laid>, CompileError>;

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
    pub order: Order,
    /// What any layout of the order takes at least.
    least: Size,
}

impl Search<'_> {
    /// The best layout of a program that has one.
    pub fn run(&self, mut plain: Order, laid: Laid) -> Found {
        let bounded = laid.spilled == 0;
        let large = plain.code().len() > SEARCHED;
        let settled = |laid: &Laid, plain: &mut Order| {
            laid.code.registers <= MANY || plain.pressure() > sched::enough(self.file, laid.code.registers)
        };
        if large && bounded && settled(&laid, &mut plain) {
            return Found { laid, order: plain, least: Size::default() };
        }
        let least = (self.least)(plain.code());
        let mut best = Found { laid, order: plain.clone(), least };
        if !bounded {
            self.spill_less(&mut plain, &mut best);
        }
        best.least = self.least_of(&mut plain, &best);
        if large {
            if best.laid.spilled == 0 && best.laid.code.registers > MANY && plain.pressure() <= self.enough(&best) {
                self.place_again(Aim::Few, &mut best);
            }
            return best;
        }
        let mut late = plain.clone();
        if late.rearrange(|code, _| sched::lazily(code)) && late.pressure() <= plain.pressure() {
            let least = self.least_of(&mut late, &best);
            self.try_order(&mut late, least, Aim::Place, &mut best);
        }
        if best.laid.spilled == 0 {
            self.more_warps(plain, &mut best);
            // All that it can gain is a pair.
            if best.laid.code.alone > 1 {
                let placed = &best.laid.placed;
                let few = (best.laid.takes_few() && placed.rematerialised == 0).then_some(placed.used);
                self.place_again(Aim::Spread(few), &mut best);
            }
        }
        self.hide_latency(bounded, &mut best);
        let least = best.order.pressure();
        if best.laid.spilled == 0 && least < best.laid.code.registers {
            self.place_again(Aim::Most(least), &mut best);
        }
        if self.goal == Goal::Instructions {
            let mut short = best.order.clone().into_code();
            if combine::share_attributes(&mut short, self.goal) {
                let aim = if best.laid.spilled == 0 { Aim::Few } else { Aim::Place };
                let least = (self.least)(&mut short);
                self.try_order(&mut Order::new(short), least, aim, &mut best);
            }
        }
        best
    }
    fn price(&self, laid: &Laid) -> u64 {
        laid.size().price(self.file, self.goal)
    }
    /// A layout that costs less than `limit`; `least` is what any of the order takes. What does not fit is no reason to fail: there is a
    /// layout that does.
    fn below(&self, order: &mut Order, least: Size, aim: Aim, limit: u64) -> Option<Laid> {
        let wins = |known: Size| least.with(known).price(self.file, self.goal) < limit;
        if !wins(Size::default()) {
            return None;
        }
        let laid = (self.lay_out)(order, aim, &wins).ok().flatten()?;
        debug_assert!(least.is_within(laid.size()), "{least:?} was to be the least, and not {:?}", laid.size());
        Some(laid).filter(|new| self.price(new) < limit)
    }
    /// What an order takes at least, of the instructions that the best one has.
    fn least_of(&self, order: &mut Order, best: &Found) -> Size {
        let registers = if self.roomy && best.laid.spilled == 0 { order.least_registers() } else { 0 };
        Size { registers: registers.max(self.fewest), ..best.least }
    }
    /// Keeps an order whose layout is cheaper, where it is known what it takes at least; says whether it was kept.
    fn try_order(&self, order: &mut Order, least: Size, aim: Aim, best: &mut Found) -> bool {
        let laid = self.below(order, least, aim, self.price(&best.laid));
        let wins = laid.is_some();
        if let Some(laid) = laid {
            *best = Found { laid, order: order.clone(), least };
        }
        wins
    }
    /// Keeps other registers for the best order, if they are cheaper.
    fn place_again(&self, aim: Aim, best: &mut Found) {
        let limit = self.price(&best.laid);
        if let Some(laid) = self.below(&mut best.order, best.least, aim, limit) {
            best.laid = laid;
        }
    }
    /// The most registers with which there would be more warps; 0 if there cannot be more.
    fn enough(&self, best: &Found) -> u32 {
        sched::enough(self.file, best.laid.code.registers)
    }
    /// Orders with fewer values live at once, where some of them lie in memory.
    fn spill_less(&self, plain: &mut Order, best: &mut Found) {
        let mut least = plain.pressure();
        let mut attempt = |mut order: Order, best: &mut Found| {
            order.tighten();
            if order.pressure() < least {
                least = order.pressure();
                let floor = self.least_of(&mut order, best);
                self.try_order(&mut order, floor, Aim::Place, best);
            }
        };
        attempt(plain.clone(), best);
        let mut sunk = plain.clone().into_code();
        if best.laid.spilled > 0 && sink::run(&mut sunk, &(self.shape)()) {
            attempt(Order::new(sunk), best);
        }
        *plain = best.order.clone();
    }
    /// Orders with fewer values live at once, where registers cost warps.
    fn more_warps(&self, plain: Order, best: &mut Found) {
        let mut least = best.order.pressure();
        if least <= self.enough(best) && !best.laid.takes_few() {
            self.place_again(Aim::Few, best);
        }
        if self.enough(best) == 0 {
            return;
        }
        let mut order = plain.clone();
        self.tighten(&mut order, &mut least, best);
        if self.enough(best) == 0 {
            return;
        }
        let mut sunk = plain.into_code();
        if sink::run(&mut sunk, &(self.shape)()) {
            let mut sunk = Order::new(sunk);
            self.tighten(&mut sunk, &mut least, best);
            if sunk.pressure() <= order.pressure() {
                order = sunk;
            }
        }
        let enough = self.enough(best);
        if enough > 0 && order.pressure() > enough {
            let mut made = order.into_code();
            if again::run(&mut made, enough as usize) {
                let mut any = u32::MAX;
                self.tighten(&mut Order::new(made), &mut any, best);
            }
        }
    }
    /// Lays out the order that keeps fewest values alive, if those are fewer than `least`.
    fn tighten(&self, order: &mut Order, least: &mut u32, best: &mut Found) {
        order.tighten();
        let pressure = order.pressure();
        if pressure < *least && pressure <= self.enough(best) {
            *least = pressure;
            let floor = self.least_of(order, best);
            let kept = self.try_order(order, floor, Aim::Place, best);
            if !(kept && best.laid.takes_few()) {
                self.try_order(order, floor, Aim::Few, best);
            }
        }
    }
    /// An order that waits less, where it costs nothing; `bounded` is whether registers can be.
    fn hide_latency(&self, bounded: bool, best: &mut Found) {
        let mut order = best.order.clone();
        let pressure = order.pressure();
        let waits = sched::stalls(order.code());
        if !order.rearrange(|code, live| sched::run(code, live, pressure)) || sched::stalls(order.code()) >= waits {
            return;
        }
        let most = best.laid.code.registers;
        let least = self.least_of(&mut order, best);
        if bounded && least.registers > most {
            return;
        }
        // Waiting less is worth no more than nothing.
        let limit = self.price(&best.laid) + 1;
        if let Some(laid) = self.below(&mut order, least, Aim::Most(most), limit) {
            *best = Found { laid, order, least };
        }
    }
}
