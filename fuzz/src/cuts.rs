//! Bytes as a network delivers them: cut anywhere.

/// Cuts the bytes into pieces, the same way each time for the same bytes, so that
/// an input that breaks something breaks it again.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    // FNV-1a spreads even inputs that differ in one bit; 1 keeps the state off zero.
    let start = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut state = start | 1;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Mostly a few bytes, where borders are; now and then a long piece.
        let wanted = if state % 8 == 0 { 64 } else { 1 + state / 8 % 5 };
        let (piece, left) = rest.split_at(rest.len().min(wanted as usize));
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn the_pieces_are_the_whole_in_order() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(pieces(&bytes).collect::<Vec<_>>().concat(), bytes);
        assert!(pieces(&bytes).count() > 10);
        assert_eq!(pieces(b"").count(), 0);
    }
}
