<?php
declare(strict_types=1);
/*
 * Digits as a picture in black and white: a BMP file, which needs no library.
 */

const DIGIT_ROWS = [
    '0' => [14, 17, 19, 21, 25, 17, 14], '1' => [4, 12, 4, 4, 4, 4, 14], '2' => [14, 17, 1, 2, 4, 8, 31],
    '3' => [31, 2, 4, 2, 1, 17, 14], '4' => [2, 6, 10, 18, 31, 2, 2], '5' => [31, 16, 30, 1, 1, 17, 14],
    '6' => [6, 8, 16, 30, 17, 17, 14], '7' => [31, 1, 2, 4, 8, 8, 8], '8' => [14, 17, 17, 14, 17, 17, 14],
    '9' => [14, 17, 17, 15, 1, 2, 12],
];
const DOT_PIXELS = 4;

/* Five bits a row and seven rows a digit, each dot of 4 × 4 pixels, with some specks. */
function picture_of_digits(string $digits): string
{
    $rows = [];
    for ($row = 0; $row < 7; $row++) {
        $dots = '';
        foreach (str_split($digits) as $digit) {
            $dots .= '0' . str_pad(decbin(DIGIT_ROWS[$digit][$row]), 5, '0', STR_PAD_LEFT);
        }
        $line = '';
        foreach (str_split($dots) as $dot) {
            $line .= str_repeat($dot, DOT_PIXELS);
        }
        array_push($rows, ...array_fill(0, DOT_PIXELS, $line));
    }
    for ($speck = 0; $speck < 40; $speck++) {
        $row = random_int(0, count($rows) - 1);
        $rows[$row][random_int(0, strlen($rows[$row]) - 1)] = '1';
    }
    return bitmap($rows);
}

/* A BMP file of one bit a pixel from rows of '0' and '1'; 1 is black. */
function bitmap(array $rows): string
{
    $width = strlen($rows[0]);
    $pixels = '';
    // A BMP begins with its lowest row, and each row fills whole groups of 32 bits.
    foreach (array_reverse($rows) as $row) {
        $bits = str_pad($row, intdiv($width + 31, 32) * 32, '0');
        $pixels .= implode('', array_map(fn ($byte) => chr(bindec($byte)), str_split($bits, 8)));
    }
    $colours = pack('VV', 0x00fbf7ef, 0x00000000);
    $start = 14 + 40 + strlen($colours);
    return 'BM' . pack('VVV', $start + strlen($pixels), 0, $start)
        . pack('VVVvvVVVVVV', 40, $width, count($rows), 1, 1, 0, strlen($pixels), 2835, 2835, 2, 2)
        . $colours . $pixels;
}
