package burst.controller.store

import burst.controller.limits.NamespaceLimits
import burst.controller.blob.*
import burst.controller.metrics.{BlobMetrics, DatabaseMetrics}
import burst.controller.secrets.Secrets
import burst.node.PrivateFile
import burst.node.metrics.MetricsRegistry
import scala.util.control.NonFatal

/** All stores of a controller, by their interfaces; `blobs` holds what is too large for the database. `close`
  * is called last.
  */
final case class Storage(
    definitions: DefinitionStore,
    actionPackages: ActionPackageStore,
    names: EntityNames,
    apis: ApiStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: Packages,
    blobs: FlareBlobStore,
    epochs: EpochStore,
    drained: DrainedInvokers,
    secrets: Secrets,
    triggers: TriggerStore,
    rules: RuleStore,
    alarms: AlarmStore,
    activations: ActivationStore,
    close: () => Unit
)

object Storage:
  /** Opens the configured stores: one directory with the embedded database, packages and blobs, or servers
    * instead.
    */
  def open(
      settings: StoreSettings,
      defaults: NamespaceLimits,
      metrics: MetricsRegistry = MetricsRegistry()
  ): Storage =
    // The directory contains everyone's inputs and results.
    PrivateFile.directory(settings.directory)
    val blobs =
      settings.s3.fold(directories(settings))(s3 => bucket(S3Bucket.open(s3))).measured(BlobMetrics(metrics))
    val database = onFailure(blobs.close())(open(settings, DatabaseMetrics(metrics)))
    def close(): Unit =
      database.close()
      blobs.close()
    val secrets = onFailure(close()):
      if settings.postgres.isDefined then PackageLocation.settle(packageLocation(settings), database)
      // Not earlier: the location could belong to another database.
      blobs.takeOver()
      Secrets(SecretsKeyFile.settle(settings.secretsKey, database))
    val index = JdbcPackageIndex(database)
    val keys = SubmissionKeys(settings.keysFor)
    val definitions = JdbcDefinitionStore(database, index, settings.versions)
    Storage(
      definitions,
      JdbcActionPackageStore(database, definitions),
      JdbcEntityNames(database),
      JdbcApiStore(database),
      JdbcFlareStore(
        database,
        blobs.flares,
        index,
        settings.logLimit,
        settings.phaseLimit,
        keys
      ),
      JdbcNamespaceStore(database, defaults, secrets.activationKeys),
      Packages(index, blobs.packages),
      blobs.flares,
      JdbcEpochStore(database),
      JdbcDrainedInvokers(database),
      secrets,
      JdbcTriggerStore(database),
      JdbcRuleStore(database),
      JdbcAlarmStore(database),
      JdbcActivationStore(database, keys),
      () => close()
    )

  private def open(settings: StoreSettings, metrics: DatabaseMetrics): Database = settings.postgres match
    case Some(postgres) => PostgresDatabase.open(postgres, metrics)
    case None =>
      import settings.*
      SqliteDatabase.open(directory, readConnections, busyTimeout, flushFlares, metrics)

  private def packageLocation(settings: StoreSettings): PackageLocation =
    settings.s3.fold(PackageLocation.of(packages(settings)))(PackageLocation.of(_))

  private def packages(settings: StoreSettings) = settings.directory.resolve("packages")

  private def onFailure[A](close: => Unit)(work: => A): A =
    try work
    catch
      case NonFatal(cause) =>
        close
        throw cause

  /** The stores of large data; `takeOver` moves there what earlier versions stored elsewhere. */
  private final case class Blobs(
      packages: PackageStore,
      flares: FlareBlobStore,
      takeOver: () => Unit,
      close: () => Unit
  ):
    def measured(metrics: BlobMetrics): Blobs =
      copy(MeasuredPackageStore(packages, metrics), MeasuredFlareBlobStore(flares, metrics))

  private def directories(settings: StoreSettings) =
    val flares = DirectoryFlareBlobStore.open(settings.directory.resolve("flares"))
    Blobs(
      DirectoryPackageStore.open(packages(settings)),
      flares,
      () => flares.takeOver(settings.directory.resolve("outputs")),
      () => ()
    )

  private def bucket(bucket: S3Bucket) =
    val flares = S3FlareBlobStore(bucket)
    Blobs(S3PackageStore(bucket), flares, () => flares.takeOverOutputs(), () => bucket.close())
