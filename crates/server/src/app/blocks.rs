//! A page whose app marked blocks in it, filled while it comes from the origin.
//!
//! The app announces them with a field that bears a nonce, and only where Wick told it by the
//! environment of its request that it is there. They are filled before anything else sees the
//! page. A page that can't be filled, since it is coded or cut, shows its texts as they were
//! written: they are escaped.

use std::sync::Arc;

use bytes::Bytes;
use markup::{Renderer, Scratch, Text};
use origin::Answer;
use transform::Blocks;
use wire::Name;

use crate::Server;
use crate::rewriting::{Rewrite, rewrite};

/// By which an app announces marked blocks, with their nonce.
const ANNOUNCES: &str = "x-wick-fill";

impl Server {
    /// The answer with its blocks filled, if it announces any.
    pub(crate) fn fill_blocks(self: &Arc<Self>, own: Option<&Arc<Renderer>>, answer: &mut Answer) {
        let fields = &mut answer.head.fields;
        let Some(nonce) = fields.all_named(ANNOUNCES).next().map(<[u8]>::to_vec) else { return };
        fields.retain(|_, name, _| !name.eq_ignore_ascii_case(ANNOUNCES.as_bytes()));
        let is_whole = !fields.has(Name::ContentEncoding) && !fields.has(Name::ContentRange);
        let Some(blocks) = Blocks::new(&nonce).filter(|_| is_whole && answer.file.is_none()) else {
            return;
        };
        let (server, own) = (self.clone(), own.cloned());
        rewrite(answer, Filling { blocks, server, own, scratch: Scratch::default() });
    }

    fn fill_block(
        &self,
        own: Option<&Arc<Renderer>>,
        scratch: &mut Scratch,
        dialect: &str,
        text: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        match self.app.renderers.of(dialect, own) {
            Ok(renderer) => {
                self.counters.app_blocks_filled.bump();
                out.extend_from_slice(&self.rendered(&renderer, scratch, Text::Unread(text)));
                true
            }
            Err(_) => {
                self.counters.app_blocks_left.bump();
                false
            }
        }
    }
}

/// What fills a page's blocks.
struct Filling {
    blocks: Blocks,
    server: Arc<Server>,
    own: Option<Arc<Renderer>>,
    scratch: Scratch,
}

impl Rewrite for Filling {
    fn write(&mut self, piece: Bytes, out: impl FnMut(Bytes)) {
        let (server, own, scratch) = (&self.server, self.own.as_ref(), &mut self.scratch);
        let fill = |name: &str, text: &[u8], html: &mut Vec<u8>| {
            server.fill_block(own, scratch, name, text, html)
        };
        self.blocks.write(&piece, fill, out);
    }

    fn finish(&mut self, out: impl FnMut(Bytes)) {
        self.blocks.finish(out);
        self.server.app.weigh(&self.server.store);
    }
}
