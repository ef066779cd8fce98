<?php
/*
 * What the board's owner may change. Everything has a working default.
 */
if (!defined('BOARD')) {
    exit;
}

define('BOARD_NAME', 'The Lamp Room');
define('BOARD_MOTTO', 'A board about lamps, wicks and the light they give.');

define('THREADS_PER_PAGE', 20);
define('POSTS_PER_PAGE', 10);

// How long a stranger's copy of a page may be shared, in seconds.
define('SHARED_SECONDS', 60);

// Boards of the field do these things; ours does them only when asked.
define('SIN_SESSION_FOR_EVERYBODY', false); // a session cookie on each page, as plain PHP apps set
define('SIN_NO_STORE', false);              // PHP's own session headers: nothing may be stored
define('SIN_VIEW_COUNTER', false);          // each reading of a thread writes to the database
define('SIN_SLOW_MILLISECONDS', 0);         // what a slow query would add to each page

/*
 * The folder that the database lies in: the server's environment, the process's, a setting
 * of php.ini, or a private folder among the temporary files. Never below this folder, which
 * the web server serves.
 */
function data_folder()
{
    $named = $_SERVER['BOARD_DATA'] ?? getenv('BOARD_DATA') ?: get_cfg_var('board.data');
    return $named ?: sys_get_temp_dir() . '/board-' . get_current_user_number();
}

function get_current_user_number()
{
    return function_exists('posix_geteuid') ? posix_geteuid() : 'data';
}
