<?php
/*
 * The database: one SQLite file, made and filled when it is first asked for.
 */
if (!defined('BOARD')) {
    exit;
}

function database()
{
    static $database = null;
    if ($database === null) {
        $file = private_folder() . '/board.sqlite';
        if (!is_file($file)) {
            make_database($file);
        }
        $database = open_database($file);
    }
    return $database;
}

function open_database($file)
{
    $database = new PDO("sqlite:$file", null, null, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        PDO::ATTR_TIMEOUT => 5,
    ]);
    $database->exec('PRAGMA foreign_keys = ON');
    $database->exec('PRAGMA synchronous = NORMAL');
    return $database;
}

/*
 * The folder of the database, which nobody but us may read. Others can write to the folder of
 * temporary files too, so one that somebody else made there is refused.
 */
function private_folder()
{
    $folder = data_folder();
    if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
        throw new PDOException("the folder $folder can't be made");
    }
    $is_ours = !function_exists('posix_geteuid') || fileowner($folder) === posix_geteuid();
    if (strpos($folder, sys_get_temp_dir() . '/board-') === 0 && (is_link($folder) || !$is_ours)) {
        throw new PDOException("the folder $folder belongs to somebody else");
    }
    return $folder;
}

/*
 * Makes the database beside its place and moves it there when it is whole, so that no request
 * sees half of it; of several first requests one does the work and the others wait.
 */
function make_database($file)
{
    $lock = @fopen("$file.lock", 'c');
    if ($lock === false || !flock($lock, LOCK_EX)) {
        throw new PDOException("the folder of $file can't be written");
    }
    clearstatcache();
    if (!is_file($file)) {
        @unlink("$file.new");
        $database = open_database("$file.new");
        $database->beginTransaction();
        $database->exec(file_get_contents(BOARD . '/includes/schema.sql'));
        seed_database($database);
        $database->commit();
        $database = null;
        rename("$file.new", $file);
        open_database($file)->exec('PRAGMA journal_mode = WAL');
    }
    fclose($lock);
}

function query($sql, array $values = [])
{
    $statement = database()->prepare($sql);
    $statement->execute($values);
    return $statement;
}
