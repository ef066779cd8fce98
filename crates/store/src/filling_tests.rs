//! A body and its readers, however pushes and reads fall between each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::task::yield_now;

use crate::{Broken, Filling, NoReaders, Reader};

type Body = Filling<&'static str>;

async fn read_all(reader: &mut Reader<&'static str>) -> Result<Vec<u8>, Broken<&'static str>> {
    let mut all = Vec::new();
    while let Some(chunk) = reader.next().await {
        all.extend_from_slice(&chunk?);
    }
    Ok(all)
}

fn chunk(random: &mut StdRng) -> Vec<u8> {
    let length = if random.random_bool(0.2) {
        random.random_range(0..9_000)
    } else {
        random.random_range(0..50)
    };
    (0..length).map(|_| random.random()).collect()
}

async fn pause(random: &mut StdRng) {
    for _ in 0..random.random_range(0..4) {
        yield_now().await;
    }
}

/// Pushes a seeded body past readers that come early, late, slowly, or leave; says who read.
async fn play(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let chunks: Vec<_> = (0..random.random_range(0..60)).map(|_| chunk(&mut random)).collect();
    let body = Arc::new(chunks.concat());
    let gives_up_at = random.random_bool(0.5).then(|| random.random_range(0..=chunks.len()));
    let window = random.random_range(0..10_000);
    let (mut filling, source) = Body::new(window);
    let mut steady = source.reader().expect("nothing was pushed yet");
    let steady = tokio::spawn(async move { read_all(&mut steady).await });
    let readers: Vec<_> = (0..20u64)
        .map(|number| {
            let mut random = StdRng::seed_from_u64(seed << 8 | number);
            let (source, body) = (source.clone(), body.clone());
            tokio::spawn(async move {
                for _ in 0..number {
                    yield_now().await;
                }
                let Some(mut reader) = source.reader() else { return false };
                let (mut read, leaves_after) = (0, random.random_range(1..400));
                for _ in 0..leaves_after {
                    pause(&mut random).await;
                    match reader.next().await {
                        Some(Ok(chunk)) => {
                            assert_eq!(chunk, body[read..read + chunk.len()]);
                            read += chunk.len();
                        }
                        Some(Err(error)) => panic!("{error}"),
                        None => {
                            assert_eq!(read, body.len());
                            return true;
                        }
                    }
                }
                false
            })
        })
        .collect();
    for (number, chunk) in chunks.iter().enumerate() {
        if gives_up_at == Some(number) {
            filling.give_up_keeping();
        }
        pause(&mut random).await;
        filling.push(Bytes::copy_from_slice(chunk)).await.expect("one reader stays to the end");
    }
    if gives_up_at == Some(chunks.len()) {
        filling.give_up_keeping();
    }
    assert_eq!(filling.finish().is_some_and(|whole| whole == *body), gives_up_at.is_none());
    assert_eq!(steady.await.expect("no reader panics").as_ref(), Ok(&*body));
    let mut finished = 0;
    for reader in readers {
        finished += usize::from(reader.await.expect("no reader panics"));
    }
    if gives_up_at.is_none() {
        assert!(finished > 0, "seed {seed}");
        let mut late = source.reader().expect("the body is still here");
        assert_eq!(read_all(&mut late).await.as_ref(), Ok(&*body));
    }
}

#[tokio::test]
async fn every_reader_sees_all_bytes_in_order() {
    for seed in 0..300 {
        play(seed).await;
    }
}

#[test]
fn readers_on_other_threads_miss_no_wake_up() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
    runtime.expect("a runtime can be made").block_on(async {
        for seed in 1_000..1_100 {
            play(seed).await;
        }
    });
}

#[tokio::test]
async fn ten_thousand_readers_share_one_body() {
    let (mut filling, source) = Body::new(1_000);
    let finished = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..10_000)
        .map(|_| {
            let mut reader = source.reader().expect("nothing was pushed yet");
            let finished = finished.clone();
            tokio::spawn(async move {
                let body = read_all(&mut reader).await.expect("the body is whole");
                finished.fetch_add(usize::from(body.len() == 5_000), Ordering::SeqCst);
            })
        })
        .collect();
    filling.give_up_keeping();
    for _ in 0..50 {
        filling.push(Bytes::from(vec![b'x'; 100])).await.expect("all read on");
    }
    assert_eq!(filling.finish(), None);
    for task in tasks {
        task.await.expect("no reader panics");
    }
    assert_eq!(finished.load(Ordering::SeqCst), 10_000);
}

#[tokio::test]
async fn the_writer_waits_for_the_slowest_reader_only_once_nothing_is_kept() {
    let (mut filling, source) = Body::new(5_000);
    let (mut slow, mut fast) = (source.reader().expect("new"), source.reader().expect("new"));
    let chunk = Bytes::from(vec![b'x'; 3_000]);
    for _ in 0..10 {
        filling.push(chunk.clone()).await.expect("kept");
    }
    for _ in 0..10 {
        assert_eq!(fast.next().await, Some(Ok(chunk.clone())));
    }
    filling.give_up_keeping();
    let writer = tokio::spawn(async move {
        filling.push(chunk).await.expect("two read");
        filling.held_bytes()
    });
    for taken in 0..9 {
        assert!(!writer.is_finished(), "{taken} chunks of ten were taken");
        assert!(slow.next().await.is_some_and(|chunk| chunk.is_ok()));
        for _ in 0..5 {
            yield_now().await;
        }
    }
    assert!(writer.is_finished(), "3,000 bytes of 5,000 wait");
    assert!(writer.await.expect("the writer does not panic") >= 6_000);
    assert!(source.reader().is_none(), "the first byte is gone");
    assert!(matches!(slow.next().await, Some(Ok(_))) && matches!(slow.next().await, Some(Ok(_))));
    assert_eq!(slow.next().await, Some(Err(Broken::Abandoned)));
    assert_eq!(slow.next().await, None);
}

#[tokio::test]
async fn a_writer_that_nobody_reads_goes_on_only_while_the_body_is_kept() {
    let (mut filling, source) = Body::new(10);
    drop(source.reader());
    assert_eq!(filling.push(Bytes::from_static(b"kept")).await, Ok(()));
    let reader = source.reader().expect("the first byte is here");
    filling.give_up_keeping();
    assert_eq!(
        (filling.push(Bytes::from_static(b" window")).await, filling.readers()),
        (Ok(()), 1)
    );
    let writer = tokio::spawn(async move { filling.push(Bytes::from_static(b"full")).await });
    yield_now().await;
    assert!(!writer.is_finished());
    drop(reader);
    assert_eq!(writer.await.expect("the writer does not panic"), Err(NoReaders));
}

#[tokio::test]
async fn a_broken_body_says_how_it_broke_after_its_bytes() {
    for (fails, error) in [(true, Broken::Failed("reset")), (false, Broken::Abandoned)] {
        let (mut filling, source) = Body::new(10);
        filling.push(Bytes::from_static(b"half")).await.expect("kept");
        let mut early = source.reader().expect("kept");
        assert!(early.next().await.is_some_and(|chunk| chunk.is_ok()));
        let waiting = tokio::spawn(async move { (early.next().await, early.next().await) });
        yield_now().await;
        if fails {
            filling.fail("reset")
        } else {
            drop(filling)
        }
        assert_eq!(waiting.await.expect("no panic"), (Some(Err(error.clone())), None));
        let mut late = source.reader().expect("kept");
        assert_eq!(late.next().await, Some(Ok(Bytes::from_static(b"half"))));
        assert_eq!(late.next().await, Some(Err(error)));
    }
}

#[tokio::test]
async fn the_whole_is_one_piece_that_slow_readers_share() {
    let (mut filling, source) = Body::new(10);
    let mut slow = source.reader().expect("new");
    filling.push(Bytes::from(vec![b'a'; 3_000])).await.expect("kept");
    filling.push(Bytes::from(vec![b'b'; 3_000])).await.expect("kept");
    let whole = filling.finish().expect("it was kept");
    let first = slow.next().await.expect("a chunk").expect("a whole body");
    assert_eq!((whole.len(), first.as_ptr()), (6_000, whole.as_ptr()));
}

#[tokio::test]
async fn a_slow_reader_that_leaves_no_longer_holds_the_writer() {
    let (mut filling, source) = Body::new(1_000);
    let (slow, mut fast) = (source.reader().expect("new"), source.reader().expect("new"));
    filling.give_up_keeping();
    filling.push(Bytes::from(vec![b'x'; 3_000])).await.expect("two read");
    assert!(fast.next().await.is_some());
    let writer = tokio::spawn(async move { filling.push(Bytes::from_static(b"more")).await });
    yield_now().await;
    assert!(!writer.is_finished());
    drop(slow);
    assert_eq!(writer.await.expect("the writer does not panic"), Ok(()));
}

#[test]
fn an_end_that_comes_while_a_reader_looks_is_heard() {
    let (done, waits) = mpsc::channel();
    let (hand_over, handed) = mpsc::channel::<Body>();
    // The end of each body races with the look of its reader.
    std::thread::spawn(move || handed.into_iter().for_each(drop));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime can be made").block_on(async {
            for round in 0..40_000 {
                let (filling, source) = Body::new(10);
                let mut reader = source.reader().expect("new");
                hand_over.send(filling).expect("the other thread listens");
                // Each round looks a little later than the last, until it is too late to race.
                (0..round % 512).for_each(|_| std::hint::spin_loop());
                assert_eq!(reader.next().await, Some(Err(Broken::Abandoned)));
            }
        });
        done.send(()).expect("the test waits");
    });
    waits.recv_timeout(Duration::from_secs(60)).expect("no reader sleeps through the end");
}
