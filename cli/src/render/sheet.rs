//! Several machines' pictures of the same scene beside each other, with what differs below.

use super::Image;
use font8x8::UnicodeFonts;

/// Pixels between pictures.
const GAP: u32 = 8;
/// Height of a line of text.
const LINE: u32 = 12;
/// How much a difference is magnified.
const LOUD: u16 = 8;
/// The sheet's own colours: paper and ink.
const PAPER: [u8; 4] = [250, 250, 248, 255];
const INK: [u8; 4] = [40, 40, 40, 255];

/// A sheet: the pictures in a row under their names, and below each but the first its difference from the first, eight times as strong.
pub fn sheet(pictures: &[(String, Image)]) -> Image {
    let Some((_, first)) = pictures.first() else { return Image::new(1, 1) };
    let (w, h) = (first.width, first.height);
    let rows = if pictures.len() > 1 { 2 } else { 1 };
    let mut out = Image::new(GAP + (w + GAP) * pictures.len() as u32, GAP + (LINE + h + GAP) * rows);
    out.rgba.chunks_mut(4).for_each(|p| p.copy_from_slice(&PAPER));
    for (n, (name, image)) in pictures.iter().enumerate() {
        let x = GAP + (w + GAP) * n as u32;
        write(&mut out, (x, GAP), name, w);
        paste(&mut out, (x, GAP + LINE), image);
        if n > 0 {
            let y = GAP + LINE + h + GAP;
            let share = format!("{:.2}% differ", first.difference(image, 2) * 100.0);
            write(&mut out, (x, y), &share, w);
            paste(&mut out, (x, y + LINE), &difference(first, image));
        }
    }
    out
}

/// What differs between two pictures of one size; grey where nothing does.
fn difference(a: &Image, b: &Image) -> Image {
    let mut out = Image::new(a.width, a.height);
    for ((o, x), y) in out.rgba.chunks_mut(4).zip(a.rgba.chunks(4)).zip(b.rgba.chunks(4)) {
        for k in 0..3 {
            o[k] = (u16::from(x[k].abs_diff(y[k])) * LOUD + 32).min(255) as u8;
        }
        o[3] = 255;
    }
    out
}

/// Lays an image over the sheet, its transparency over the paper.
fn paste(out: &mut Image, (left, top): (u32, u32), image: &Image) {
    for y in 0..image.height {
        for x in 0..image.width {
            let from = (y as usize * image.width as usize + x as usize) * 4;
            let pixel = &image.rgba[from..from + 4];
            let alpha = u16::from(pixel[3]);
            let blend = |k: usize| ((u16::from(pixel[k]) * alpha + u16::from(PAPER[k]) * (255 - alpha)) / 255) as u8;
            out.put((left + x, top + y), [blend(0), blend(1), blend(2), 255]);
        }
    }
}

/// A line of text, as much of it as the width takes.
fn write(out: &mut Image, (left, top): (u32, u32), text: &str, width: u32) {
    for (n, c) in text.chars().take(width as usize / 8).enumerate() {
        let Some(glyph) = font8x8::BASIC_FONTS.get(c) else { continue };
        for (y, row) in glyph.iter().enumerate() {
            for x in (0..8).filter(|x| row >> x & 1 == 1) {
                out.put((left + n as u32 * 8 + x, top + y as u32), INK);
            }
        }
    }
}
