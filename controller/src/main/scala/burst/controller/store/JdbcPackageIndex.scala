package burst.controller.store

import burst.controller.blob.PackageCopy
import burst.protocol.{PackageId, Timestamp}
import scalikejdbc.*

/** The index of packages in any SQL database. */
final class JdbcPackageIndex(
    database: Database,
    now: () => Timestamp = () => Timestamp.now()
) extends PackageIndex:
  import JdbcFlareStore.Live

  def find(id: PackageId): Option[PackageCopy] =
    database.read("looking for a package"):
      sql"SELECT id, tag FROM package WHERE id = ${id.value}".row(copy)

  def ids(): Vector[PackageId] =
    database.read("listing packages"):
      sql"SELECT id FROM package".rows(packageId)

  def announce(copy: PackageCopy): Unit =
    database.write("announcing a package"):
      val _ =
        sql"INSERT INTO package_upload (id, tag, begun) VALUES (${copy.id.value}, ${copy.tag}, ${now()})"
          .update()

  def confirm(copy: PackageCopy): Unit =
    database.write("confirming a package"):
      val announced =
        sql"DELETE FROM package_upload WHERE id = ${copy.id.value} AND tag = ${copy.tag}".update() == 1
      if announced then
        // Of two copies stored at the same time the later one counts: the other may have been deleted.
        val _ = sql"""INSERT INTO package (id, tag) VALUES (${copy.id.value}, ${copy.tag})
                      ON CONFLICT (id) DO UPDATE SET tag = excluded.tag""".update()

  def hold(ids: Set[PackageId]): Set[PackageId] = if ids.isEmpty then Set.empty
  else
    database.write("holding a package"):
      sql"""SELECT id FROM package WHERE id IN (${Stored.padded(ids.toVector.map(_.value))})
            ${database.sharedLock}"""
        .rows(packageId)
        .toSet

  def unneeded(): Vector[PackageId] =
    database.read("looking for packages nothing needs"):
      sql"SELECT id FROM package WHERE NOT ${neededBy(sqls"package.id")}"
        .rows(packageId)

  def forget(id: PackageId): Option[PackageCopy] =
    database.write("forgetting a package"):
      // Two statements: the second sees what the transactions stored that the first waited for.
      val held =
        sql"SELECT id, tag FROM package WHERE id = ${id.value} ${database.rowLock}".row(copy)
      held.filter: _ =>
        sql"DELETE FROM package WHERE id = ${id.value} AND NOT ${neededBy(sqls"package.id")}".update() == 1

  def forgetAnnounced(before: Timestamp): Unit =
    database.write("forgetting packages that never came"):
      val _ = sql"DELETE FROM package_upload WHERE begun < $before".update()

  def copies(): Set[PackageCopy] =
    database.read("listing packages"):
      // One statement: a copy that is confirmed meanwhile is in one of the two tables.
      sql"SELECT id, tag FROM package_upload UNION SELECT id, tag FROM package"
        .rows(copy)
        .toSet

  private def neededBy(id: SQLSyntax): SQLSyntax =
    sqls"""(EXISTS (SELECT 1 FROM definition WHERE package_id = $id)
            OR EXISTS (SELECT 1 FROM definition_history WHERE package_id = $id)
            OR EXISTS (SELECT 1 FROM flare WHERE state IN ($Live) AND package_id = $id))"""

  private def packageId(row: WrappedResultSet): PackageId = Stored.packageId(row.string("id"))

  private def copy(row: WrappedResultSet): PackageCopy = PackageCopy(packageId(row), row.string("tag"))
