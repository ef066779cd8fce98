//! Whose a packet is, what stands in front of it on its way, and a socket with two readers.

use super::*;

#[test]
fn a_packet_says_whose_it_is() {
    let id = *b"TAGGrandom12";
    let short = [&[0x40][..], &id, b"payload"].concat();
    let long = [&[0xc0, 0, 0, 0, 1, ID_BYTES as u8][..], &id, &[0], b"payload"].concat();
    let of_a_client = [&[0xc0, 0, 0, 0, 1, 8][..], b"TAGGxxxx", &[0], b"payload"].concat();
    for (packet, expected) in [
        (&short[..], Some(*b"TAGG")),
        (&long, Some(*b"TAGG")),
        (&of_a_client, None),
        (&short[..ID_BYTES], None),
        (&long[..ID_BYTES], None),
        (b"", None),
        (&[0xff], None),
    ] {
        assert_eq!(tag_of(packet), expected, "{packet:?}");
    }
}

#[test]
fn a_label_tells_all_that_the_kernel_told() {
    for (peer, local, ecn) in [
        ("192.0.2.1:443", Some("192.0.2.9"), Some(EcnCodepoint::Ect0)),
        ("[2001:db8::1]:50000", Some("2001:db8::2"), Some(EcnCodepoint::Ce)),
        ("127.0.0.1:1", None, None),
    ] {
        let told = RecvMeta {
            addr: peer.parse().expect("an address"),
            dst_ip: local.map(|local| local.parse().expect("an address")),
            ecn,
            ..RecvMeta::default()
        };
        let mut text = Vec::new();
        push_label(&mut text, &told);
        text.extend_from_slice(b"packet");
        let mut read = RecvMeta::default();
        assert_eq!(read_label(&text, &mut read), Some(&b"packet"[..]));
        assert_eq!((read.addr, read.dst_ip, read.ecn), (told.addr, told.dst_ip, told.ecn));
        assert_eq!(read_label(&text[..LABEL_BYTES - 1], &mut read), None);
    }
}

/// Two processes' ends of one socket, in one.
struct Two {
    first: Arc<Socket>,
    first_handle: Http3Handle,
    second: Arc<Socket>,
    second_tag: Tag,
    client: UdpSocket,
}

fn two() -> Two {
    let server = Server::new(crate::ServerConfig::default(), base::Clock::manual(0));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let first_handle = Http3Handle::new(socket, Vec::new()).expect("a socket");
    let first = first_handle.open(&server).expect("a socket");
    let HandedOver { socket, routes, address } = first_handle.hand_over().expect("sockets");
    let routes = routes.into_iter().map(|(tag, socket)| Route { tag, socket }).collect();
    let second_handle = Http3Handle::new(socket.into(), routes).expect("a socket");
    let second = second_handle.open(&server).expect("a socket");
    let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
    client.connect(address).expect("it is there");
    Two { first, first_handle, second, second_tag: second_handle.shared.tag, client }
}

/// What comes, as far as it is for the reader.
async fn next(socket: &Socket) -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let mut meta = [RecvMeta::default()];
        let count = std::future::poll_fn(|context| {
            socket.poll_recv(context, &mut [IoSliceMut::new(&mut bytes)], &mut meta)
        });
        assert_eq!(count.await.expect("a packet"), 1);
        if meta[0].len > 0 {
            return bytes[..meta[0].len].to_vec();
        }
    }
}

fn packet(tag: Tag, text: &[u8]) -> Vec<u8> {
    [&[0x40][..], &tag, b"12345678", text].concat()
}

#[tokio::test]
async fn who_came_last_reads_the_socket_and_sends_on_what_is_an_older_ones() {
    let two = two();
    let first_tag = two.first_handle.shared.tag;
    let (own, older) = (packet(two.second_tag, b"own"), packet(first_tag, b"older"));
    // Until it leaves the first one reads.
    two.client.send(&older).expect("it is sent");
    assert_eq!(next(&two.first).await, older);
    two.first_handle.leave();
    two.client.send(&older).expect("it is sent");
    two.client.send(&own).expect("it is sent");
    assert_eq!(next(&two.second).await, own);
    assert_eq!(next(&two.first).await, older);
    // If the other ends it is the reader again.
    drop(two.second);
    two.client.send(&own).expect("it is sent");
    assert_eq!(next(&two.first).await, own);
}

#[tokio::test]
async fn a_batch_is_taken_apart() {
    let two = two();
    let first_tag = two.first_handle.shared.tag;
    let (own, older) = (packet(two.second_tag, b"1"), packet(first_tag, b"2"));
    let mut batch = [&older[..], &own, &older, &own[..own.len() - 1]].concat();
    let addr = two.client.local_addr().expect("an address");
    let mut meta = RecvMeta { len: batch.len(), stride: own.len(), addr, ..RecvMeta::default() };
    two.second.sort(&mut batch, &mut meta);
    assert_eq!(batch[..meta.len], [&own[..], &own[..own.len() - 1]].concat());
    two.first_handle.leave();
    assert_eq!(next(&two.first).await, older);
    assert_eq!(next(&two.first).await, older);
}

#[test]
fn ids_are_of_one_tag_and_never_the_same() {
    let mut ids = Ids(*b"TAGG");
    let (one, other) = (ids.generate_cid(), ids.generate_cid());
    assert!(one != other && one.starts_with(b"TAGG") && one.len() == ids.cid_len());
}
