//! Renderers of the dialects that apps name, each made when it is named for the first time.

use std::collections::HashMap;
use std::sync::Arc;

use markup::{BUILT_IN, Dialect, Options, Renderer};
use parking_lot::RwLock;

/// The name of a site's own dialect.
const OWN: &str = "site";

/// Those that were made: at most all that are built in.
#[derive(Default)]
pub(super) struct Renderers(RwLock<HashMap<&'static str, Arc<Renderer>>>);

impl Renderers {
    /// The renderer of a dialect; `own` is the site's.
    pub(super) fn of(
        &self,
        name: &str,
        own: Option<&Arc<Renderer>>,
    ) -> Result<Arc<Renderer>, String> {
        if name == OWN {
            return own.cloned().ok_or_else(|| {
                "the site has no dialect of its own: name its file as markup in wick.toml"
                    .to_owned()
            });
        }
        let known = BUILT_IN.iter().map(|(known, _)| *known);
        let Some(name) = known.clone().find(|known| *known == name) else {
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(format!("there is no dialect \"{name}\": there are {known}, {OWN}"));
        };
        if let Some(made) = self.0.read().get(name) {
            return Ok(made.clone());
        }
        let dialect = Dialect::built_in(name).map_err(|error| error.to_string())?;
        let made = Arc::new(Renderer::new(dialect, Options::default()));
        Ok(self.0.write().entry(name).or_insert(made).clone())
    }
}
