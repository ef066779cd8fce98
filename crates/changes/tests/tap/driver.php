<?php
// Runs what it reads, line by line, and prints what each line returns.
mysqli_report(MYSQLI_REPORT_OFF);
while (($line = fgets(STDIN)) !== false) {
    try {
        $result = eval($line);
    } catch (Throwable $error) {
        $result = get_class($error) . ': ' . $error->getMessage();
    }
    echo json_encode($result, JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
}
