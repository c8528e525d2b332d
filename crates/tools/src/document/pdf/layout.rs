//! From glyphs at their places to lines of text.
//!
//! Glyphs are taken in the order in which the page draws them, which programs that write PDF keep to the order of
//! reading; a gap makes a space, and a step across the line makes a new one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, interpret_page,
};
use tokio_util::sync::CancellationToken;

/// Units of a glyph's space in one em.
const EM: f64 = 1_000.0;
/// Characters of one page.
const MAX_PAGE_CHARS: usize = 500_000;
/// Drawing steps of one page.
const MAX_STEPS: usize = 5_000_000;

/// When to give up.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    pub(super) stop: CancellationToken,
    pub(super) deadline: Instant,
}

impl Pause {
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_cancelled() || Instant::now() >= self.deadline
    }
}

/// Reads pages of one file.
pub(super) struct PageReader<'a> {
    pdf: &'a Pdf,
    cache: InterpreterCache<'a>,
}

impl<'a> PageReader<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Self { pdf, cache: InterpreterCache::new() }
    }

    /// The text of a page; its beginning when that takes too long or is too much.
    pub(super) fn text(&self, page: &Page<'a>, pause: &Pause) -> String {
        let (xref, settings) = (self.pdf.xref(), InterpreterSettings::default());
        let everywhere = Rect::new(-1e6, -1e6, 1e6, 1e6);
        let mut context = Context::new(Affine::IDENTITY, everywhere, &self.cache, xref, settings);
        let mut lines =
            LineWriter { pause, text: String::new(), pen: None, last_run: None, chars: 0, steps: 0 };
        let drawn = catch_unwind(AssertUnwindSafe(|| interpret_page(page, &mut context, &mut lines)));
        if let Err(reason) = drawn
            && !reason.is::<Enough>()
        {
            resume_unwind(reason);
        }
        lines.text.truncate(lines.text.trim_end().len());
        lines.text
    }
}

/// Why drawing was left.
struct Enough;

/// Where the last glyph ended.
#[derive(Clone, Copy)]
struct Pen {
    at: Point,
    /// Along the line, of length 1.
    along: Vec2,
    em: f64,
}

struct LineWriter<'p> {
    pause: &'p Pause,
    text: String,
    pen: Option<Pen>,
    /// Places of the first and the last glyph: a run that is filled and outlined comes twice.
    last_run: Option<(Point, Point)>,
    chars: usize,
    steps: usize,
}

impl LineWriter<'_> {
    /// Counts a drawing step, and looks at the clock from time to time.
    fn step(&mut self) {
        self.steps += 1;
        let much = self.steps > MAX_STEPS || self.chars > MAX_PAGE_CHARS;
        if much || (self.steps.is_multiple_of(256) && self.pause.is_over()) {
            // The interpreter cannot be told to stop in another way; this one prints nothing.
            resume_unwind(Box::new(Enough));
        }
    }

    fn glyph(&mut self, glyph: &Glyph<'_>, transform: Affine) {
        self.step();
        let advance = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let advance = f64::from(advance.unwrap_or(500.0)).max(0.0);
        let at = transform * Point::ZERO;
        let end = transform * Point::new(advance, 0.0);
        let along = transform * Point::new(EM, 0.0) - at;
        let em = (transform * Point::new(0.0, EM) - at).hypot();
        if !(em.is_finite() && em > 0.0 && along.hypot() > 0.0 && end.is_finite()) {
            return;
        }
        let along = along / along.hypot();
        let text = match glyph.as_unicode() {
            Some(BfString::Char(c)) => String::from(c),
            Some(BfString::String(text)) => text,
            None => String::from(char::REPLACEMENT_CHARACTER),
        };
        let is_space = text.chars().all(char::is_whitespace);
        self.separate(at, along, em, is_space);
        self.pen = Some(Pen { at: end, along, em });
        for c in text.chars() {
            self.put(c);
        }
    }

    /// Writes what stands between the last glyph and one at `at`.
    fn separate(&mut self, at: Point, along: Vec2, em: f64, is_space: bool) {
        let Some(pen) = self.pen else { return };
        let gap = at - pen.at;
        let (forward, across) = (gap.dot(pen.along), gap.cross(pen.along).abs());
        let size = pen.em.max(em);
        if across > 0.6 * size || forward < -1.2 * size || along.dot(pen.along) < 0.9 {
            self.end_line();
            if across > 1.9 * size {
                self.text.push('\n');
            }
        } else if !is_space && !self.text.ends_with([' ', '\n']) {
            if forward > 2.5 * size {
                self.text.push_str("  ");
            } else if forward > 0.18 * size {
                self.text.push(' ');
            }
        }
    }

    fn put(&mut self, c: char) {
        self.chars += 1;
        let spelled = match c {
            '\u{FB00}' => "ff",
            '\u{FB01}' => "fi",
            '\u{FB02}' => "fl",
            '\u{FB03}' => "ffi",
            '\u{FB04}' => "ffl",
            c if c.is_control() => return,
            c if c.is_whitespace() => {
                // A line does not begin with a space.
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push(' ');
                }
                return;
            }
            c => return self.text.push(c),
        };
        self.text.push_str(spelled);
    }

    fn end_line(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

impl<'a> Device<'a> for LineWriter<'_> {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        self.step();
        let glyphs = run.glyphs();
        let (Some(first), Some(last)) = (glyphs.first(), glyphs.last()) else { return };
        let place = |transform: Affine| props.transform * transform * Point::ZERO;
        let ends = (place(first.transform()), place(last.transform()));
        if self.last_run.replace(ends) == Some(ends) {
            return;
        }
        for glyph in glyphs {
            self.glyph(glyph, props.transform * glyph.transform());
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.step();
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.step();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.step();
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {
        self.step();
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
