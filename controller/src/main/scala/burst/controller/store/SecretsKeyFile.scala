package burst.controller.store

import burst.controller.secrets.SecretsKey
import burst.node.SetupException
import java.nio.file.{Files, Path}
import org.slf4j.LoggerFactory
import scalikejdbc.*

/** Which key the secrets of a database are sealed by. Controllers that share a database have to share the
  * key, too: the database knows the id of the one that was first. It is a file beside the database and not in
  * it: one who reads a copy of the database reads no secret.
  */
object SecretsKeyFile:
  private val log = LoggerFactory.getLogger("burst.controller.secrets")

  /** The key of this controller, made by the first one that starts. A later one without it goes on, but for
    * definitions with secrets. Throws `SetupException` where it is another one's than the database's secrets.
    */
  def settle(file: Path, database: Database): Option[SecretsKey] =
    // The database first: in a directory that is shared, the file of an id that is noted is there.
    val noted = known(database)
    (SecretsKey.read(file), noted) match
      case (Some(key), Some(id)) if key.id == id => Some(key)
      case (Some(key), _) =>
        noted.filterNot(_ => adopt(key, database)).foreach: id =>
          throw SetupException(
            s"the secrets in the database were sealed by another key ($id) than $file (${key.id}): put the right " +
              "one there, or move this one away to start without secrets (or, if that key is lost, stop all " +
              "controllers and empty the table secrets_key: the secrets have to be deployed again then)."
          )
        if noted.isEmpty && !first(key, database) then settle(file, database) else Some(key)
      case (None, Some(id)) =>
        log.warn(
          "the key of the secrets, {}, is not there: copy it from another controller or from where it was kept " +
            "apart (its id is {}), or name it by burst.store.secrets-key, and start this controller again. Until " +
            "then definitions with secrets are not deployed or run from here.",
          file,
          id
        )
        None
      case (None, None) =>
        SecretsKey.create(file) match
          // In a directory that is shared another one may have found it and noted it.
          case Some(key) if first(key, database) || known(database).contains(key.id) => Some(key)
          case made =>
            // Another controller was first; a key that was made here has sealed nothing.
            made.foreach(_ => Files.delete(file))
            settle(file, database)

  private def known(database: Database): Option[String] =
    database.read("looking for the key of the secrets"):
      sql"SELECT id FROM secrets_key".row(_.string("id"))

  private def first(key: SecretsKey, database: Database): Boolean =
    database.write("noting the key of the secrets", Durability.Power):
      sql"""INSERT INTO secrets_key (one_row, id) VALUES (1, ${key.id})
            ON CONFLICT (one_row) DO NOTHING""".update() == 1

  /** Where nothing is sealed yet any key will do. Another controller may run with the one that was noted:
    * what it seals is not stored any more ([[of]]).
    */
  private def adopt(key: SecretsKey, database: Database): Boolean =
    database.write("noting the key of the secrets", Durability.Power):
      // Only then what is sealed by it is seen: who stores that holds the row.
      val before = sql"SELECT id FROM secrets_key ${database.rowLock}".row(_.string("id"))
      val adopted =
        sql"""UPDATE secrets_key SET id = ${key.id}
            WHERE NOT EXISTS (SELECT 1 FROM definition WHERE secrets <> '[]')""".update() == 1
      if adopted && !before.contains(key.id) then
        log.warn(
          "the key of the secrets is {} from now on, in place of {}, by which nothing is sealed: a controller that " +
            "runs with the other one needs a copy and a new start.",
          key.id,
          before.getOrElse("none")
        )
      adopted

  /** Which key all secrets are sealed by, until this transaction has ended. */
  private[store] def of(database: Database)(using DBSession): Option[String] =
    sql"SELECT id FROM secrets_key ${database.sharedLock}".row(_.string("id"))
