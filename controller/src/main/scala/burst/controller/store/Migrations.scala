package burst.controller.store

import burst.node.SetupException
import javax.sql.DataSource
import org.flywaydb.core.Flyway
import org.flywaydb.core.api.{MigrationInfo, MigrationState}
import org.slf4j.LoggerFactory

/** Brings a database to the form that this release works with.
  *
  * Controllers of releases next to each other work on one database while a cluster is upgraded. So a
  * migration adds, and the release before goes on with what it finds; and where that cannot be its
  * description begins with `breaking` (`V30__breaking_…`): it is made only while no other controller is up,
  * and a release that does not know it does not work with the database any more.
  *
  * @param location
  *   of the scripts in the class path
  */
private[store] final class Migrations(source: DataSource, location: String):
  import Migrations.*

  private[store] val flyway = Flyway
    .configure()
    .dataSource(source)
    .locations(s"classpath:$location")
    // Who comes second waits for as long as the first one takes.
    .lockRetryCount(-1)
    .load()

  /** Blocks until it is done; of several at once one does it. Throws `SetupException` with what the operator
    * has to know, and Flyway's exceptions.
    *
    * @param others
    *   how many other controllers work on the database
    */
  def migrate(others: => Int): Unit =
    val known = flyway.info()
    known.all().find(info => info.getState == MigrationState.FUTURE_SUCCESS && isBreaking(info)).foreach:
      info =>
        throw SetupException(
          s"the database was changed by a newer release (${name(info)}), and this one cannot work with it any more: " +
            "start the newer one, or restore the backup that was made before the upgrade."
        )
    // Nobody works with an empty one yet.
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
