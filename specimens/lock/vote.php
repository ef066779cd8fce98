<?php
declare(strict_types=1);
/*
 * Votes have a script of their own: vote.php?id=1.
 */

require __DIR__ . '/lock.php';

(new Lock())->answer();
