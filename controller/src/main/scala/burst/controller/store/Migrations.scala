package burst.controller.store

import burst.node.SetupException
import javax.sql.DataSource
import org.flywaydb.core.Flyway
import org.flywaydb.core.api.{MigrationInfo, MigrationState}
import org.slf4j.LoggerFactory

/** Migrates a database to the schema that this release works with.
  *
  * Controllers of consecutive releases share one database during an upgrade of a cluster. So migrations only
  * add, and the previous release continues to work with the result. Where that is impossible, the description
  * begins with `breaking` (`V30__breaking_…`): such a migration runs only while no other controller is up,
  * and a release that does not know it refuses to work with the database from then on.
  *
  * @param location
  *   the location of the scripts in the class path
  */
private[store] final class Migrations(source: DataSource, location: String):
  import Migrations.*

  private[store] val flyway = Flyway
    .configure()
    .dataSource(source)
    .locations(s"classpath:$location")
    // The second of two waits as long as the first one takes.
    .lockRetryCount(-1)
    .load()

  /** Blocks until the database is migrated; if several call it at once, one does it. Throws `SetupException`
    * with what the operator has to know, and Flyway's exceptions.
    *
    * @param others
    *   how many other controllers use the database
    */
  def migrate(others: => Int): Unit =
    val known = flyway.info()
    known.all().find(info => info.getState == MigrationState.FUTURE_SUCCESS && isBreaking(info)).foreach:
      info =>
        throw SetupException(
          s"the database was changed by a newer release (${name(info)}), and this one cannot work with it any more: " +
            "start the newer one, or restore the backup that was made before the upgrade."
        )
    // Nobody uses an empty database yet.
    known.pending().find(info => known.applied().nonEmpty && isBreaking(info)).foreach: info =>
      val up = others
      if up > 0 then
        throw SetupException(
          s"this release changes the database (${name(info)}) so that those before it cannot work with it, and " +
            s"$up other controllers are up: stop them first."
        )
    if known.pending().nonEmpty then
      log.info("the database's tables are being changed; another controller that does so is waited for")
    val _ = flyway.migrate()

private[store] object Migrations:
  private val log = LoggerFactory.getLogger(classOf[Migrations])

  private def isBreaking(info: MigrationInfo): Boolean = info.getDescription.startsWith("breaking ")

  private def name(info: MigrationInfo): String = s"V${info.getVersion}, ${info.getDescription}"
