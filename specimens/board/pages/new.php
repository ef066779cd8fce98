<?php
/*
 * The form for a new thread.
 */
if (!defined('BOARD')) {
    exit;
}

require_reading();
require_member();
show('new', ['title' => 'New thread']);
