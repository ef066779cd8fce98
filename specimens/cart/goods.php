<?php
declare(strict_types=1);
/*
 * What the shop sells: number, name, price in pence, words.
 */

return [
    1 => ['Brass table lamp', 4850, 'Heavy foot, round wick, takes half a litre of oil.'],
    2 => ['Storm lantern', 2975, 'Burns in any wind that lets you stand.'],
    3 => ['Flat wick, 2 m', 340, 'Cotton, 22 mm wide, for most burners.'],
    4 => ['Clear oil, 5 l', 1895, 'Without smell. Not sent by air.'],
    5 => ['Chimney, 250 mm', 720, 'Heatproof glass with a ground edge.'],
    6 => ['Wick trimmer', 1150, 'Scissors that catch what they cut.'],
    7 => ['White shade', 1640, 'Opal glass, 200 mm.'],
    8 => ['Wall bracket', 990, 'Cast iron with a mirror behind the flame.'],
];
