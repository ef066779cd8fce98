<?php if (!defined('BOARD')) exit; ?>
<h1><?= escape($title) ?></h1>
<p><?= escape($message) ?></p>
<p><a href="/">Back to the threads</a></p>
