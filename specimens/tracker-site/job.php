<?php
declare(strict_types=1);
/*
 * What runs every quarter of an hour: what peers have added goes into the members' totals, and peers
 * that have gone go. In one transaction, so that a tracker that writes meanwhile adds before or after.
 */

require __DIR__ . '/tables.php';

const PEER_LIFE_SECONDS = 3600;

if (PHP_SAPI !== 'cli') {
    http_response_code(404);
    exit;
}
$tables = new Tables();
$tables->together(function () use ($tables): void {
    $rows = $tables->query('SELECT user_id, up_add, down_add FROM bb_bt_tracker' . $tables->for_update())->fetchAll();
    $sums = [];
    foreach ($rows as $row) {
        $sums[$row['user_id']]['up'] = ($sums[$row['user_id']]['up'] ?? 0) + (int) $row['up_add'];
        $sums[$row['user_id']]['down'] = ($sums[$row['user_id']]['down'] ?? 0) + (int) $row['down_add'];
    }
    ksort($sums);
    foreach ($sums as $user => $sum) {
        $tables->query(
            'UPDATE bb_bt_users SET u_up_total = u_up_total + ?, u_down_total = u_down_total + ? WHERE user_id = ?',
            [$sum['up'], $sum['down'], $user]
        );
    }
    $tables->query('DELETE FROM bb_bt_tracker WHERE update_time < ?', [time() - PEER_LIFE_SECONDS]);
    $tables->query('UPDATE bb_bt_tracker SET up_add = 0, down_add = 0');
});
