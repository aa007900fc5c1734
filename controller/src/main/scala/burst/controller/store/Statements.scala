package burst.controller.store

import burst.protocol.Timestamp
import scalikejdbc.*

/** In a statement a time is its number of microseconds. */
private[store] given TypeBinder[Timestamp] = TypeBinder.long.map(Timestamp.ofMicros)

/** Helpers that run a statement and read its rows. */
extension (statement: SQL[Nothing, NoExtractor])
  private[store] def rows[A](read: WrappedResultSet => A)(using DBSession): Vector[A] =
    statement.map(read).collection[Vector]()

  /** Returns the single row that the statement finds, or none. */
  private[store] def row[A](read: WrappedResultSet => A)(using DBSession): Option[A] =
    statement.map(read).single()

  private[store] def isAny(using DBSession): Boolean = row(_ => ()).isDefined

  /** Returns the number that the statement counts. */
  private[store] def count(using DBSession): Long = row(_.long(1)).getOrElse(0L)
