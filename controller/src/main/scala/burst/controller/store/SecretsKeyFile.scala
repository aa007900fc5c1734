package burst.controller.store

import burst.controller.secrets.SecretsKey
import burst.node.SetupException
import java.nio.file.{Files, Path}
import org.slf4j.LoggerFactory
import scalikejdbc.*

/** The key that seals the secrets of a database. Controllers that share a database have to share the key,
  * too: the database has the id of the first one. The key is in a file beside the database, so that a copy of
  * the database reveals no secrets.
  */
object SecretsKeyFile:
  private val log = LoggerFactory.getLogger("burst.controller.secrets")

  /** Returns the key of this controller; the first one that starts makes it. A later one without it runs, but
    * not definitions with secrets. Throws `SetupException` if the key is not the one that sealed the
    * database's secrets.
    */
  def settle(file: Path, database: Database): Option[SecretsKey] =
    // The database first: in a shared directory, the file of a recorded id already exists.
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
          // In a shared directory another controller may have found the file and recorded its id.
          case Some(key) if first(key, database) || known(database).contains(key.id) => Some(key)
          case made =>
            // Another controller was first; the key made here has sealed nothing.
            made.foreach(_ => Files.delete(file))
            settle(file, database)

  private def known(database: Database): Option[String] =
    database.read("looking for the key of the secrets"):
      sql"SELECT id FROM secrets_key".row(_.string("id"))

  private def first(key: SecretsKey, database: Database): Boolean =
    database.write("noting the key of the secrets", Durability.Power):
      sql"""INSERT INTO secrets_key (one_row, id) VALUES (1, ${key.id})
            ON CONFLICT (one_row) DO NOTHING""".update() == 1

  /** Replaces the recorded key id if nothing is sealed yet. Another controller may run with the previous key:
    * what it seals is no longer stored ([[of]]).
    */
  private def adopt(key: SecretsKey, database: Database): Boolean =
    database.write("noting the key of the secrets", Durability.Power):
      // The lock makes sealed secrets visible here: a transaction that stores them holds the row.
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

  /** Returns the id of the key that seals all secrets, fixed until this transaction has ended. */
  private[store] def of(database: Database)(using DBSession): Option[String] =
    sql"SELECT id FROM secrets_key ${database.sharedLock}".row(_.string("id"))
