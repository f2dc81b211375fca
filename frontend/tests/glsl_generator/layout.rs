//! Where the cells of a block stand, by the rules of std140 and std430 (OpenGL 4.6, 7.6.2.2).

use super::{Block, Program, Ty};

fn up(x: usize, to: usize) -> usize {
    x.div_ceil(to) * to
}

/// Byte offsets of a type's cells from where it begins; alignment and size.
fn place(p: &Program, t: &Ty, std140: bool, row_major: bool) -> (Vec<usize>, usize, usize) {
    let vector = |n: usize| [4, 8, 16, 16][n - 1];
    let rounded = |align: usize| if std140 { up(align, 16) } else { align };
    match t {
        Ty::Void => (Vec::new(), 4, 0),
        Ty::Scalar(_) => (vec![0], 4, 4),
        Ty::Vector(_, n) => ((0..*n).map(|k| 4 * k).collect(), vector(*n), 4 * n),
        Ty::Matrix(c, r) => {
            let (vectors, lanes) = if row_major { (*r, *c) } else { (*c, *r) };
            let stride = rounded(vector(lanes));
            let at = |col: usize, row: usize| if row_major { row * stride + 4 * col } else { col * stride + 4 * row };
            ((0..c * r).map(|k| at(k / r, k % r)).collect(), stride, vectors * stride)
        }
        Ty::Array(e, n) => {
            let (cells, align, size) = place(p, e, std140, row_major);
            let align = rounded(align);
            let stride = up(size, align);
            ((0..*n).flat_map(|k| cells.iter().map(move |c| c + k * stride)).collect(), align, n * stride)
        }
        Ty::Struct(s) => {
            let members: Vec<(&Ty, bool)> = p.structs[*s].members.iter().map(|m| (&m.1, row_major)).collect();
            let (cells, align, size) = sequence(p, &members, std140);
            let align = rounded(align);
            (cells, align, up(size, align))
        }
    }
}

fn sequence(p: &Program, members: &[(&Ty, bool)], std140: bool) -> (Vec<usize>, usize, usize) {
    let (mut out, mut at, mut most) = (Vec::new(), 0, 4);
    for (t, row_major) in members {
        let (cells, align, size) = place(p, t, std140, *row_major);
        at = up(at, align);
        out.extend(cells.iter().map(|c| at + c));
        at += size;
        most = most.max(align);
    }
    (out, most, at)
}

/// The word of each cell of a block's members, in order, and the number of words of the block.
pub fn block(p: &Program, b: &Block) -> (Vec<usize>, usize) {
    let members: Vec<(&Ty, bool)> = b.members.iter().map(|(v, r)| (&p.vars[*v].ty, *r)).collect();
    let (cells, align, size) = sequence(p, &members, b.uniform);
    (cells.iter().map(|c| c / 4).collect(), up(size, if b.uniform { 16 } else { align }) / 4)
}
