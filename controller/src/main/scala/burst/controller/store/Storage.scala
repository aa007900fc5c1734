package burst.controller.store

import burst.controller.blob.*
import scala.util.control.NonFatal

/** All that a controller keeps, behind its contracts; `blobs` is what of flares is too large for the
  * database. `close` is called last.
  */
final case class Storage(
    definitions: DefinitionStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: Packages,
    blobs: FlareBlobStore,
    epochs: EpochStore,
    close: () => Unit
)

object Storage:
  /** As configured: one directory with the embedded database, packages and blobs, or servers in their place.
    */
  def open(settings: StoreSettings, defaults: NamespaceLimits): Storage =
    val folder = settings.directory.resolve("packages")
    val blobs = settings.s3.fold(directories(settings))(s3 => bucket(S3Bucket.open(s3)))
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
          case None =>
            import settings.*
            SqliteDatabase.open(directory, readConnections, busyTimeout, flushFlares)
      catch
        case NonFatal(cause) =>
          blobs.close()
          throw cause
    val index = JdbcPackageIndex(database)
    Storage(
      JdbcDefinitionStore(database, index),
      JdbcFlareStore(database, blobs.flares, index, settings.logLimit, settings.phaseLimit),
      JdbcNamespaceStore(database, defaults),
      Packages(index, blobs.packages),
      blobs.flares,
      JdbcEpochStore(database),
      () =>
        database.close()
        blobs.close()
    )

  /** Where large things are. */
  private final case class Blobs(packages: PackageStore, flares: FlareBlobStore, close: () => Unit)

  private def directories(settings: StoreSettings) = Blobs(
    DirectoryPackageStore.open(settings.directory.resolve("packages")),
    DirectoryFlareBlobStore.open(
      settings.directory.resolve("flares"),
      former = Some(settings.directory.resolve("outputs"))
    ),
    () => ()
  )

  private def bucket(bucket: S3Bucket) =
    try Blobs(S3PackageStore(bucket), S3FlareBlobStore.open(bucket), () => bucket.close())
    catch
      case NonFatal(cause) =>
        bucket.close()
        throw cause
