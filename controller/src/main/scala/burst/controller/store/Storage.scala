package burst.controller.store

import burst.controller.blob.*
import scala.util.control.NonFatal

/** All that a controller keeps, behind its contracts. `close` is called last. */
final case class Storage(
    definitions: DefinitionStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: PackageStore,
    outputs: OutputStore,
    epochs: EpochStore,
    close: () => Unit
)

object Storage:
  /** As configured: one directory with the embedded database, packages and outputs, or servers in their
    * place.
    */
  def open(settings: StoreSettings, defaults: NamespaceLimits): Storage =
    val blobs = settings.s3.fold(directories(settings))(s3 => bucket(S3Bucket.open(s3)))
    val database =
      try
        settings.postgres match
          case Some(postgres) => PostgresDatabase.open(postgres)
          case None => SqliteDatabase.open(settings.directory, settings.readConnections, settings.busyTimeout)
      catch
        case NonFatal(cause) =>
          blobs.close()
          throw cause
    Storage(
      JdbcDefinitionStore(database),
      JdbcFlareStore(database, settings.logLimit, settings.phaseLimit),
      JdbcNamespaceStore(database, defaults),
      blobs.packages,
      blobs.outputs,
      JdbcEpochStore(database),
      () =>
        database.close()
        blobs.close()
    )

  /** Where large things are. */
  private final case class Blobs(packages: PackageStore, outputs: OutputStore, close: () => Unit)

  private def directories(settings: StoreSettings) = Blobs(
    DirectoryPackageStore.open(settings.directory.resolve("packages")),
    DirectoryOutputStore.open(settings.directory.resolve("outputs")),
    () => ()
  )

  private def bucket(bucket: S3Bucket) =
    Blobs(S3PackageStore(bucket), S3OutputStore(bucket), () => bucket.close())
