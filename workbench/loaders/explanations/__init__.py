"""Why a broker keeps, deletes, compacts or commits something: verdicts and plans as rows."""
