<?php
/*
 * Logging out.
 */
if (!defined('BOARD')) {
    exit;
}

if (is_post() && current_member()) {
    require_form_token();
    log_out();
}
redirect('/');
