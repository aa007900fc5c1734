package burst.controller.store

import burst.controller.blob.{DirectoryPackageStore, PackageStore}

/** All that a controller keeps, behind its contracts. `close` is called last. */
final case class Storage(
    definitions: DefinitionStore,
    flares: FlareStore,
    namespaces: NamespaceStore,
    packages: PackageStore,
    close: () => Unit
)

object Storage:
  /** One directory: the embedded database and the packages. */
  def embedded(settings: StoreSettings, defaults: NamespaceLimits): Storage =
    val packages = DirectoryPackageStore.open(settings.directory.resolve("packages"))
    val database = SqliteDatabase.open(settings.directory, settings.readConnections, settings.busyTimeout)
    Storage(
      JdbcDefinitionStore(database),
      JdbcFlareStore(database, settings.logLimit, settings.phaseLimit),
      JdbcNamespaceStore(database, defaults),
      packages,
      () => database.close()
    )
