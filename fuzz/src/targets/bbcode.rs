//! BBCode: whatever is written, what comes of it is balanced HTML of the closed lists, no
//! longer than was promised, made with work that follows from the text's length.
//!
//! The first byte chooses the dialect and the form of the text.

use std::sync::OnceLock;

use markup::{BUILT_IN, Dialect, Form, OUTPUT_FACTOR, OUTPUT_SLACK, Options, Renderer, Scratch};

use crate::judge::judge;

/// How often a byte may be looked at, all in all, and how much work a text is beside that.
const LOOKS_MAX: u64 = 64;
const LOOKS_SLACK: u64 = 4096;

static RENDERERS: OnceLock<Vec<Renderer>> = OnceLock::new();

pub(crate) fn run(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let renderers = RENDERERS.get_or_init(renderers);
    let renderer = &renderers[usize::from(*choice) % renderers.len()];
    let mut html = Vec::new();
    let mut scratch = Scratch::default();
    let rendered = renderer.render_with(&mut scratch, text, &mut html);
    assert!(html.len() <= OUTPUT_FACTOR * text.len() + OUTPUT_SLACK, "{} bytes", html.len());
    let looks = LOOKS_MAX * text.len() as u64 + LOOKS_SLACK;
    assert!(rendered.steps <= looks, "{} looks at {} bytes", rendered.steps, text.len());
    let judged = judge(&html);
    assert!(judged.is_ok(), "{judged:?} in {}", html.escape_ascii());
    // Buffers that were used before make no difference.
    let mut again = html.clone();
    let twice = renderer.render_with(&mut scratch, text, &mut again);
    assert_eq!((twice, &again[html.len()..]), (rendered, &html[..]));
}

fn renderers() -> Vec<Renderer> {
    let forms = [Form::Typed, Form::Stored, Form::Escaped];
    let all = BUILT_IN.iter().flat_map(|(name, _)| forms.map(|form| (name, form)));
    all.map(|(name, form)| {
        let dialect = Dialect::built_in(name).expect("it is built in");
        Renderer::new(dialect, Options { form: Some(form), ..Options::default() })
    })
    .collect()
}
