<?php
declare(strict_types=1);
/*
 * The front controller of the wiki.
 */

require __DIR__ . '/lock.php';

(new Lock())->answer();
