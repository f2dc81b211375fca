//! Branches and the values that they carry, dropped pixels.

use super::*;

impl Selector<'_> {
    pub(super) fn discard(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        // KILL knows !p0, !p1 and p0; what keeps the pixel stands in p1, as in published programs.
        let p = match self.f.const_bits(d.args[0]) {
            Some([0, ..]) => return Ok(true),
            Some(_) => None,
            None if self.is_inverted(d.args[0]) => Some(self.condition(d.args[0], 1)?),
            None => match self.lanes[d.args[0]].first() {
                Some(l) => {
                    self.test(None, (TestKind::Signed, Rel::Eq, *l, Lane::c(0)), 1);
                    Some((1, true))
                }
                None => Some(self.condition(d.args[0], 0)?),
            },
        };
        self.emit(Kind::Kill(p), None, Vec::new());
        self.out.phases = true;
        Ok(true)
    }

    pub(super) fn jump(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        self.edge(&d.targets[0]);
        self.branch(d.targets[0].block, None);
        Ok(true)
    }

    pub(super) fn branch_if(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (d, _) = self.parts(i);
        let p = self.condition(d.args[0], 0)?;
        if d.targets.iter().any(|t| !t.args.is_empty()) {
            return Err(CompileError::Internal("a critical edge carries values".to_string()));
        }
        self.branch(d.targets[0].block, Some(p));
        self.branch(d.targets[1].block, None);
        Ok(true)
    }

    fn branch(&mut self, to: Block, pred: Option<Pred>) {
        let (at, to) = (self.at, self.index[to] as usize);
        let b = &mut self.out.primary.blocks[at];
        if !b.succs.contains(&to) {
            b.succs.push(to);
        }
        self.emit(Kind::Branch(to, pred), None, Vec::new());
    }

    fn edge(&mut self, t: &BlockCall) {
        let params = self.f.blocks[t.block].params.clone();
        let (mut dst, mut src) = (Vec::new(), Vec::new());
        for (p, a) in params.iter().zip(&t.args) {
            let Some(Lane { base: Base::V(v, _), .. }) = self.lanes[*p].first().copied() else { continue };
            // Nobody needs a value on a path that does not make one.
            let nothing = self.f.def_if(*a, Opcode::Undef).is_some();
            let a = if nothing { vec![Lane::new(Base::Undef); self.f.ty(*a).lanes as usize] } else { self.value_lanes(*a) };
            dst.push(v);
            src.push(a);
        }
        if !dst.is_empty() {
            self.emit(Kind::Parallel(dst), None, src);
        }
    }
}
