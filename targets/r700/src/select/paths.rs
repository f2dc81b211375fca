//! How many groups stand in front of the values of a piece of code, and behind them, at least.

use crate::select::mir::{Kind, Op, Opnd};

/// Groups that a fetch is taken to last.
const FETCH: u32 = 5;

/// Groups in front of each web of a piece of code, and behind it.
pub struct Paths {
    depth: Vec<u32>,
    height: Vec<u32>,
    /// The groups of the longest path.
    pub longest: u32,
}

impl Paths {
    /// Of a program with so many webs.
    pub fn new(webs: usize) -> Paths {
        Paths { depth: vec![0; webs], height: vec![0; webs], longest: 0 }
    }

    fn groups(o: &Op) -> u32 {
        match o.kind {
            Kind::Fetch(_) => FETCH,
            _ => u32::from(o.is_alu()),
        }
    }

    /// Finds what is behind each web, and how long the longest path is; nothing has a depth yet.
    pub fn measure(&mut self, ops: &[Op]) {
        for o in ops {
            o.each_write(|w| self.height[w.0 as usize] = 0);
            o.each_read(|w| self.height[w.0 as usize] = 0);
        }
        for o in ops.iter().rev() {
            let behind = self.behind(o) + Self::groups(o);
            o.each_read(|w| self.height[w.0 as usize] = behind.max(self.height[w.0 as usize]));
        }
        self.forget(ops);
        self.longest = ops.iter().map(|o| self.note(o) + self.behind(o)).max().unwrap_or(0);
        self.forget(ops);
    }

    /// Nothing that a piece of code names has a depth yet.
    pub fn forget(&mut self, ops: &[Op]) {
        for o in ops {
            o.each_write(|w| self.depth[w.0 as usize] = 0);
            o.each_read(|w| self.depth[w.0 as usize] = 0);
        }
    }

    /// The groups behind an operation.
    pub fn behind(&self, o: &Op) -> u32 {
        let mut most = 0;
        o.each_write(|w| most = most.max(self.height[w.0 as usize]));
        most
    }

    /// The groups up to an operation's result, which is noted.
    pub fn note(&mut self, o: &Op) -> u32 {
        let mut before = 0;
        o.each_read(|w| before = before.max(self.depth[w.0 as usize]));
        let depth = before + Self::groups(o);
        o.each_write(|w| self.depth[w.0 as usize] = depth);
        depth
    }

    /// The groups up to an operand.
    pub fn depth(&self, o: &Opnd) -> u32 {
        o.as_web().map_or(0, |w| self.depth[w.0 as usize])
    }

    /// A web that is there at some depth.
    pub fn add(&mut self, depth: u32) {
        self.depth.push(depth);
        self.height.push(0);
    }
}
