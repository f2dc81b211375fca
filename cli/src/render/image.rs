//! Images: 8-bit RGBA, PNG in and out, and as textures.

use crate::ir::env::{Filter, Wrap};
use crate::ir::{TexDim, TextureData};
use thiserror::Error;

/// The largest width and height of an image that is read.
const MAX_SIDE: u32 = 4096;

/// A PNG that cannot be read or written.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct ImageError(String);

/// A PNG file of images of one size: a plain one of one image, an animated one that runs for ever of several.
pub fn animation(frames: &[Image], per_second: u16) -> Result<Vec<u8>, ImageError> {
    let fail = |e: png::EncodingError| ImageError(format!("cannot encode the image: {e}"));
    let Some(first) = frames.first() else { return Err(ImageError("an animation of no images".to_string())) };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, first.width, first.height);
    // Most pictures are opaque, and then a quarter smaller.
    let opaque = frames.iter().all(|f| f.rgba.chunks(4).all(|p| p[3] == 255));
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    if frames.len() > 1 {
        encoder.set_animated(frames.len() as u32, 0).map_err(fail)?;
        encoder.set_frame_delay(1, per_second).map_err(fail)?;
    }
    let mut writer = encoder.write_header().map_err(fail)?;
    for frame in frames {
        let pixels = frame.rgba.chunks(4).flat_map(|p| &p[..if opaque { 3 } else { 4 }]).copied().collect::<Vec<u8>>();
        writer.write_image_data(&pixels).map_err(fail)?;
    }
    writer.finish().map_err(fail)?;
    Ok(bytes)
}

/// An RGBA image, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Four bytes per pixel.
    pub rgba: Vec<u8>,
}

impl Image {
    /// A transparent image.
    pub fn new(width: u32, height: u32) -> Image {
        Image { width, height, rgba: vec![0; width as usize * height as usize * 4] }
    }
    /// Sets a pixel; places outside are ignored.
    pub fn set(&mut self, (x, y): (u32, u32), colour: [f32; 4]) {
        // NaN becomes 0.
        self.put((x, y), colour.map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8));
    }
    /// Sets a pixel's bytes; places outside are ignored.
    pub fn put(&mut self, (x, y): (u32, u32), rgba: [u8; 4]) {
        if x < self.width && y < self.height {
            let at = (y as usize * self.width as usize + x as usize) * 4;
            self.rgba[at..at + 4].copy_from_slice(&rgba);
        }
    }
    /// Share of the pixels (0…1) in which some channel differs by more than `tolerance`; 1 if the sizes differ.
    pub fn difference(&self, other: &Image, tolerance: u8) -> f64 {
        if (self.width, self.height) != (other.width, other.height) {
            return 1.0;
        }
        let far = |(a, b): (&[u8], &[u8])| a.iter().zip(b).any(|(x, y)| x.abs_diff(*y) > tolerance);
        let n = self.rgba.chunks(4).zip(other.rgba.chunks(4)).filter(|p| far(*p)).count();
        n as f64 / (self.rgba.len() / 4).max(1) as f64
    }
    /// As a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, ImageError> {
        animation(std::slice::from_ref(self), 1)
    }
    /// From a PNG file of any kind.
    pub fn from_png(bytes: &[u8]) -> Result<Image, ImageError> {
        let fail = |e: &dyn std::fmt::Display| ImageError(format!("not a PNG image that can be read: {e}"));
        let limits = png::Limits { bytes: 256 << 20 };
        let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|e| fail(&e))?;
        let (width, height) = reader.info().size();
        if width > MAX_SIDE || height > MAX_SIDE {
            return Err(ImageError(format!("the image is {width}x{height}; at most {MAX_SIDE}x{MAX_SIDE} can be read")));
        }
        let size = reader.output_buffer_size().ok_or_else(|| fail(&"too large"))?;
        let mut data = vec![0; size];
        let info = reader.next_frame(&mut data).map_err(|e| fail(&e))?;
        let channels = info.color_type.samples();
        let mut image = Image::new(width, height);
        for (out, px) in image.rgba.chunks_mut(4).zip(data.chunks(channels)) {
            out.copy_from_slice(&match *px {
                [l] => [l, l, l, 255],
                [l, a] => [l, l, l, a],
                [r, g, b] => [r, g, b, 255],
                [r, g, b, a] => [r, g, b, a],
                _ => [0; 4],
            });
        }
        Ok(image)
    }
    /// As a 2D texture of values from 0 to 1.
    pub fn to_texture(&self, filter: Filter, wrap: Wrap) -> TextureData {
        TextureData {
            dim: TexDim::D2,
            size: [self.width, self.height, 1],
            layers: 1,
            levels: 1,
            depth: false,
            filter,
            wrap,
            texels: self.rgba.chunks(4).map(|p| [0, 1, 2, 3].map(|n| (f32::from(p[n]) / 255.0).to_bits())).collect(),
        }
    }
}
