//! A tap alone: what passes it is all that is heard.
//!
//! Invariant: it is heard only while the server answers. Who can't be reached may have been
//! started anew, and written by others before the app is back.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use tokio::time::timeout;

use super::Shared;
use crate::connect::{connect, lost};
use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Event, Lost};

/// How often the server is asked whether it is there.
const EVERY: Duration = Duration::from_secs(1);
/// After so long without an answer the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Hears the tap for ever.
pub(crate) async fn follow(shared: Arc<Shared>, inlet: Inlet) {
    repeat(&inlet, || listen(shared.clone(), inlet.clone())).await;
}

async fn listen(shared: Arc<Shared>, inlet: Inlet) -> Result<std::convert::Infallible, Lost> {
    let mut connection = connect(&shared.address).await?;
    let _place = shared.hearers.join(&inlet, &shared.address.database, None).ok_or_else(gone)?;
    loop {
        tokio::time::sleep(EVERY).await;
        match timeout(SILENCE_MAX, connection.ping()).await {
            Ok(answer) => answer.map_err(|error| lost(&error))?,
            Err(_) => return Err(Lost::Silent),
        }
        if shared.hearers.is_closed() {
            return Err(gone());
        }
        inlet.tell(Event::Idle);
    }
}

pub(super) fn gone() -> Lost {
    Lost::Impossible("the tap between the app and its database is gone".to_owned())
}
