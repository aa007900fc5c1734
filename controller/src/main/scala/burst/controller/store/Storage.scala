package burst.controller.store

import burst.controller.blob.{DirectoryPackageStore, S3PackageStore}
import scala.util.control.NonFatal

/** All that a controller keeps, behind its contracts. `close` is called last. */
final case class Storage(
    definitions: DefinitionStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: Packages,
    epochs: EpochStore,
    close: () => Unit
)

object Storage:
  /** As configured: one directory with the embedded database and the packages, or servers in their place. */
  def open(settings: StoreSettings, defaults: NamespaceLimits): Storage =
    val packages = settings.s3 match
      case Some(s3) => S3PackageStore.open(s3)
      case None => DirectoryPackageStore.open(settings.directory.resolve("packages"))
    val database =
      try
        settings.postgres match
          case Some(postgres) => PostgresDatabase.open(postgres)
          case None =>
            import settings.*
            SqliteDatabase.open(directory, readConnections, busyTimeout, flushFlares)
      catch
        case NonFatal(cause) =>
          packages.close()
          throw cause
    val index = JdbcPackageIndex(database)
    Storage(
      JdbcDefinitionStore(database, index),
      JdbcFlareStore(database, index, settings.logLimit, settings.phaseLimit),
      JdbcNamespaceStore(database, defaults),
      Packages(index, packages),
      JdbcEpochStore(database),
      () =>
        database.close()
        packages.close()
    )
