package burst.controller.store

import burst.controller.trigger.TriggerRefusal
import burst.protocol.Timestamp
import scalikejdbc.*

/** The entities of a collection in any SQL database.
  *
  * @param listed
  *   the columns that lists read
  */
private[store] abstract class JdbcEntityStore[E, C](
    database: Database,
    collection: Collection,
    listed: SQLSyntax
) extends EntityStore[E, C]:
  import collection.{plural, singular, table}

  /** Reads an entity as lists show it. */
  protected def summary(row: WrappedResultSet): E
  protected def read(namespace: String, name: String)(using DBSession): Option[E]

  /** Returns the entity that a first change is applied to. */
  protected def blank(namespace: String, name: String, change: C): Either[TriggerRefusal, E]
  protected def changed(there: E, change: C, now: Timestamp): E
  protected def store(entity: E)(using DBSession): Either[TriggerRefusal, E]

  /** Called before an entity is deleted. */
  protected def leave(namespace: String, name: String)(using DBSession): Unit = ()

  final def find(namespace: String, name: String): Option[E] =
    database.read(s"reading a $singular")(read(namespace, name))

  final def list(namespace: String, limit: Int, skip: Int): Vector[E] =
    database.read(s"listing $plural"):
      sql"""SELECT $listed FROM $table WHERE namespace = $namespace
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip""".rows(summary)

  final def count(namespace: String): Int = database.read(s"counting $plural")(counted(namespace))

  final def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: C,
      most: Int,
      now: Timestamp
  ): Either[TriggerRefusal, E] =
    database.write(s"storing a $singular", Durability.Power):
      Collection.hold(database, namespace)
      val there: Either[TriggerRefusal, E] = read(namespace, name) match
        case Some(_) if !overwrite => Left(TriggerRefusal.Exists(name))
        case Some(there) => Right(there)
        case None =>
          for
            _ <- Collection
              .holder(namespace, name, collection)
              .map(other => TriggerRefusal.NameTaken(name, other.singular))
              .toLeft(())
            _ <- Either.cond(counted(namespace) < most, (), TriggerRefusal.TooMany(most))
            blank <- blank(namespace, name, change)
          yield blank
      there.map(changed(_, change, now)).flatMap(store)

  final def delete(namespace: String, name: String): Option[E] =
    database.write(s"deleting a $singular", Durability.Power):
      Collection.hold(database, namespace)
      read(namespace, name).map: there =>
        leave(namespace, name)
        sql"DELETE FROM $table WHERE namespace = $namespace AND name = $name".update()
        there

  private def counted(namespace: String)(using DBSession): Int =
    sql"SELECT COUNT(*) FROM $table WHERE namespace = $namespace".count.toInt
