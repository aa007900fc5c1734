package burst.controller.store

import burst.controller.blob.S3Settings
import burst.node.SetupException
import java.nio.file.{FileAlreadyExistsException, Files, Path}
import java.util.UUID
import scalikejdbc.*

/** The location of packages. Controllers that share a database have to share it, too: each must find what the
  * others were sent.
  *
  * @param id
  *   the same for all controllers with the same packages
  * @param shown
  *   the location as messages show it
  */
final case class PackageLocation(id: String, shown: String)

object PackageLocation:
  def of(bucket: S3Settings): PackageLocation = PackageLocation(bucket.address, bucket.address)

  /** Identifies a directory by a file among the packages, which moves with them, and which every controller
    * that has mounted them sees.
    */
  def of(directory: Path): PackageLocation =
    val file = directory.resolve("place")
    try
      val fresh = Files.writeString(directory.resolve(s"place-${UUID.randomUUID}"), UUID.randomUUID.toString)
      try Files.createLink(file, fresh): Unit
      finally Files.delete(fresh)
    catch case _: FileAlreadyExistsException => ()
    PackageLocation(Files.readString(file), directory.toAbsolutePath.toString)

  /** Checks the location against the one that the first controller recorded in the database. Throws
    * `SetupException` if they differ.
    */
  def settle(own: PackageLocation, database: Database): Unit =
    val first = database.write("looking where packages are"):
      sql"""INSERT INTO package_place (one_row, id, shown) VALUES (1, ${own.id}, ${own.shown})
            ON CONFLICT (one_row) DO NOTHING""".update()
      sql"SELECT id, shown FROM package_place".row(row =>
        PackageLocation(row.string("id"), row.string("shown"))
      )
    first.filter(_.id != own.id).foreach: first =>
      throw SetupException(
        s"the packages of this database are in ${first.shown}, and this controller would have its own in " +
          s"${own.shown}: give all controllers that share a database the same bucket, burst.store.s3.url (or " +
          "empty the table package_place once you have moved the packages)."
      )
