//! The threads that serve, begun and ended together.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use mio::Waker;

use super::Service;
use super::sockets::Sockets;
use super::turn::Turns;

/// Threads that serve, until they are told to stop.
#[derive(Debug)]
pub struct Serving {
    stop: Arc<AtomicBool>,
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<()>>,
}

impl Serving {
    /// Starts as many threads, over these sockets.
    ///
    /// # Errors
    /// The system has no more threads, or no way to wait for sockets.
    pub fn begin(service: &Arc<Service>, sockets: Sockets, threads: usize) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let open = Arc::new(AtomicUsize::new(0));
        let mut serving = Self { stop: stop.clone(), wakers: Vec::new(), threads: Vec::new() };
        for (number, sockets) in sockets.dealt(threads).into_iter().enumerate() {
            let thread = Turns::new(service.clone(), sockets, stop.clone(), open.clone())?;
            serving.wakers.push(thread.waker());
            let thread = std::thread::Builder::new()
                .name(format!("tracker-{number}"))
                .spawn(move || thread.run())?;
            serving.threads.push(thread);
        }
        Ok(serving)
    }

    /// Reads nothing more that is new, lets answers under way leave, and waits for the threads.
    /// Whether all of them ended as they should.
    pub fn stop(mut self) -> bool {
        self.begin_stop();
        let ends: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ends.iter().all(Result::is_ok)
    }

    fn begin_stop(&self) {
        self.stop.store(true, Ordering::Release);
        for waker in &self.wakers {
            // A thread that can't be woken looks within a tick.
            let _ = waker.wake();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.begin_stop();
    }
}
