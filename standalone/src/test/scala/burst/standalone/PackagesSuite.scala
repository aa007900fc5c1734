package burst.standalone

import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import munit.FunSuite
import scala.concurrent.duration.{Duration, DurationInt}

/** Which packages know which others; Maven's modules hold the arrows between them. */
class PackagesSuite extends FunSuite:
  /** It reads all classes, the libraries' too where ours name them. */
  override val munitTimeout: Duration = 5.minutes

  test("no two packages know each other, by whatever way round"):
    val classes = ClassFileImporter()
      .withImportOption(ImportOption.DoNotIncludeTests())
      .importPackages("burst")
    assert(!classes.isEmpty)
    slices().matching("burst.(**)").should().beFreeOfCycles().check(classes)
