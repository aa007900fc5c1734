package burst.controller.store

import burst.node.FullDisk
import java.sql.SQLException
import org.sqlite.{SQLiteErrorCode, SQLiteException}

/** Why something is not stored, for users who cannot read the log: what is wrong (`reason`), and what must
  * happen before a retry makes sense (`remedy`).
  */
enum StoreProblem(val reason: String, val remedy: String):
  /** The disk of the embedded database, of files beside it, or of the spool. */
  case DiskFull extends StoreProblem("the controller's disk is full", "there is room")
  case DatabaseFull extends StoreProblem("the database's disk is full", "there is room")
  case DatabaseAway extends StoreProblem("the database fails or does not answer", "it is well again")

  /** The directory or bucket for what is too large for the database. */
  case BlobsAway
      extends StoreProblem("the store of large outputs fails or does not answer", "it is well again")

  def isOfRoom: Boolean = this == StoreProblem.DiskFull || this == StoreProblem.DatabaseFull

object StoreProblem:
  def of(failure: Throwable): StoreProblem =
    FullDisk
      .causes(failure)
      .collectFirst:
        case sqlite: SQLiteException if isFull(sqlite) => DiskFull
        case server: SQLException if server.getSQLState == ServersDiskFull => DatabaseFull
      .getOrElse:
        if FullDisk.isCauseOf(failure) then DiskFull
        else
          failure match
            case _: StoreException => DatabaseAway
            case _ => BlobsAway

  private def isFull(failure: SQLiteException): Boolean =
    failure.getResultCode == SQLiteErrorCode.SQLITE_FULL

  /** PostgreSQL's `disk_full`. */
  private val ServersDiskFull = "53100"
