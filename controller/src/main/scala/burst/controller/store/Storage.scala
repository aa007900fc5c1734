package burst.controller.store

import burst.controller.blob.{DirectoryPackageStore, PackageStore, S3PackageStore}
import scala.util.control.NonFatal

/** All that a controller keeps, behind its contracts. `close` is called last. */
final case class Storage(
    definitions: DefinitionStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: PackageStore,
    epochs: EpochStore,
    close: () => Unit
)

object Storage:
  /** As configured: one directory with the embedded database and the packages, or servers in their place. */
  def open(settings: StoreSettings, defaults: NamespaceLimits): Storage =
    val folder = settings.directory.resolve("packages")
    val packages = settings.s3 match
      case Some(s3) => S3PackageStore.open(s3)
      case None => DirectoryPackageStore.open(folder)
    val database =
      try
        settings.postgres match
          case Some(postgres) =>
            val shared = PostgresDatabase.open(postgres)
            try PackagePlace.settle(settings.s3.fold(PackagePlace.of(folder))(PackagePlace.of(_)), shared)
            catch
              case NonFatal(cause) =>
                shared.close()
                throw cause
            shared
          case None => SqliteDatabase.open(settings.directory, settings.readConnections, settings.busyTimeout)
      catch
        case NonFatal(cause) =>
          packages.close()
          throw cause
    Storage(
      JdbcDefinitionStore(database),
      JdbcFlareStore(database, settings.logLimit, settings.phaseLimit),
      JdbcNamespaceStore(database, defaults),
      packages,
      JdbcEpochStore(database),
      () =>
        database.close()
        packages.close()
    )
