package burst.standalone

import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import munit.FunSuite
import scala.concurrent.duration.{Duration, DurationInt}

/** Dependencies between packages; Maven's modules enforce those between modules. */
class PackagesSuite extends FunSuite:
  /** The test reads all classes, including library classes that ours refer to. */
  override val munitTimeout: Duration = 5.minutes

  test("no packages depend on each other in a cycle"):
    val classes = ClassFileImporter()
      .withImportOption(ImportOption.DoNotIncludeTests())
      .importPackages("burst")
    assert(!classes.isEmpty)
    slices().matching("burst.(**)").should().beFreeOfCycles().check(classes)
