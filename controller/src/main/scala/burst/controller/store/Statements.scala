package burst.controller.store

import burst.protocol.Timestamp
import scalikejdbc.*

/** In a statement a time is the number that it is. */
private[store] given TypeBinder[Timestamp] = TypeBinder.long.map(Timestamp.ofMicros)

/** What a statement finds. */
extension (statement: SQL[Nothing, NoExtractor])
  private[store] def rows[A](read: WrappedResultSet => A)(using DBSession): Vector[A] =
    statement.map(read).collection[Vector]()

  /** Of one that finds a single row, or none. */
  private[store] def row[A](read: WrappedResultSet => A)(using DBSession): Option[A] =
    statement.map(read).single()

  private[store] def isAny(using DBSession): Boolean = row(_ => ()).isDefined

  /** Of one that counts. */
  private[store] def count(using DBSession): Long = row(_.long(1)).getOrElse(0L)
