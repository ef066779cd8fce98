<?php
declare(strict_types=1);
/*
 * The first content of every specimen: titles and bodies.
 */

return [
    ['How to trim a wick', "Cut it straight while it is cold, and take off no more than the burnt edge. A wick that stands too high draws more oil than it can burn, and the chimney turns black.\n\nRound the corners a little, or the flame grows horns."],
    ['The right oil', "Clear lamp oil burns without smell and leaves little soot. Coloured oil clogs the weave of the wick in a winter.\n\nKeep the can closed, out of the sun, and write on it what is in it."],
    ['Chimneys that crack', "A chimney cracks when one side warms faster than the other. Begin with a low flame and wait until the glass is warm all round.\n\nA drop of water on hot glass does the rest."],
    ['Reading by lamplight', "One flame behind the left shoulder is enough for a book in plain type. Two lamps on one table make shadows that quarrel.\n\nA white shade turned upwards lights a room; turned down it lights a page."],
    ['A lantern for the stable', "Straw and open flames are no friends. The lantern hangs from a hook of its own, never from a nail that holds a harness.\n\nTin lasts longer than brass where animals breathe."],
    ['Why the flame flickers', "Look for a draught first and for water in the oil next. A flame that jumps at even intervals wants air from below: clean the holes of the burner.\n\nIf it flickers only in company, somebody talks too much."],
    ['Storing lamps in summer', "Empty the font, wipe it dry and leave the cap off. Wrap the chimney in newspaper and lay it down, since it stands badly.\n\nThe wick may stay where it is if it is long enough for another year."],
    ['The keeper’s book', "Write down each night when the lamp was lit, how much oil it took and who came by. After some years it is the best book in the house.\n\nNobody has to write well in it. It only has to be every night."],
];
