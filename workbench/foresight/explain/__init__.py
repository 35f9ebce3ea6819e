"""Why a log is cleaned or not, why a segment is deleted or not: one row per rule."""
